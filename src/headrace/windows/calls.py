"""Find the aggregate functions that a text calls, with what belongs to each call.

A text is cut by its tokens and never written anew: what is not replaced stays letter
by letter as the user wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot.tokenizer_core import Token, TokenType

AGGREGATES = frozenset(
    re.findall(
        r"\w+",
        """
    any any_value approx_count_distinct approx_percentile approx_top_k
    approx_top_k_accumulate approx_top_k_combine array_agg avg bit_and bit_or bit_xor
    bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list
    collect_set corr count count_if count_min_sketch covar_pop covar_samp every first
    first_value histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint
    kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint
    kll_sketch_agg_double kll_sketch_agg_float kurtosis last last_value listagg max
    max_by mean median min min_by mode percentile percentile_approx percentile_cont
    percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope
    regr_sxx regr_sxy regr_syy schema_of_variant_agg skewness some std stddev
    stddev_pop stddev_samp string_agg sum theta_intersection_agg theta_sketch_agg
    theta_union_agg top try_avg try_sum tuple_intersection_agg_double
    tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer
    tuple_union_agg_double tuple_union_agg_integer var_pop var_samp variance
        """,
    )
)
"""Spark's aggregate functions, and ``top``, which is ours."""

_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET}


@dataclass(frozen=True)
class Call:
    """A call of an aggregate function.

    Attributes:
        name: The function, in lower case.
        start: Where the call begins in the text.
        end: Where the text goes on behind it and its clauses.
        arguments: The arguments' texts.
        distinct: Whether equal values count once.
        nulls: ``ignore``, ``respect``, or nothing if that is left open.
        within: What WITHIN GROUP orders by, each by itself.
        ordered: The text of the WITHIN GROUP clause.
        condition: The condition of the FILTER clause.
        over: Whether an OVER clause follows.
    """

    name: str
    start: int
    end: int
    arguments: tuple[str, ...]
    distinct: bool = False
    nulls: str = ""
    within: tuple[str, ...] = ()
    ordered: str = ""
    condition: str = ""
    over: bool = False

    @property
    def filter(self) -> str:
        """The FILTER clause as it follows a call."""
        return f" filter (where {self.condition})" if self.condition else ""


def calls(text: str) -> list[Call]:
    """Give the calls of aggregate functions that no other one holds.

    Example:
        >>> [(c.name, c.arguments) for c in calls("sum(a * 2) / count(distinct b)")]
        [('sum', ('a * 2',)), ('count', ('b',))]
    """
    tokens = sqlglot.tokenize(text, dialect="spark")
    found, place = [], 0
    while place < len(tokens):
        if _calls_aggregate(tokens, place):
            call, place = _Reader(text, tokens, place).read()
            found.append(call)
        else:
            place += 1
    return found


def _calls_aggregate(tokens: Sequence[Token], place: int) -> bool:
    token, following = tokens[place], tokens[place + 1 : place + 2]
    quoted = token.token_type in {TokenType.IDENTIFIER, TokenType.STRING}
    called = any(follows.token_type == TokenType.L_PAREN for follows in following)
    inside = place > 0 and tokens[place - 1].token_type == TokenType.DOT
    return token.text.lower() in AGGREGATES and called and not quoted and not inside


class _Reader:
    """Reads one call, token by token."""

    def __init__(self, text: str, tokens: Sequence[Token], place: int) -> None:
        self._text = text
        self._tokens = tokens
        self._first = place
        self._place = place + 1

    def read(self) -> tuple[Call, int]:
        """Give the call and the place of the token behind it."""
        first = self._tokens[self._first]
        inside = self._bracket()
        word = inside[0].token_type if inside else None
        if word in {TokenType.DISTINCT, TokenType.ALL}:
            inside = inside[1:]
        arguments = tuple(self._slice(part) for part in _parts(inside))
        nulls = condition = ordered = ""
        within: tuple[str, ...] = ()
        while True:
            begin = self._place
            if self._next("within", "group"):
                clause = self._bracket()
                within = tuple(self._slice(_bare(p)) for p in _parts(clause[1:]))
                ordered = " " + self._slice(self._tokens[begin : self._place])
            elif self._next("filter"):
                condition = self._slice(self._bracket()[1:])
            elif self._next("ignore", "nulls"):
                nulls = "ignore"
            elif self._next("respect", "nulls"):
                nulls = "respect"
            else:
                break
        over = self._next("over")
        end = self._tokens[self._place - 1].end + 1
        call = Call(
            first.text.lower(),
            first.start,
            end,
            arguments,
            distinct=word == TokenType.DISTINCT,
            nulls=nulls,
            within=within,
            ordered=ordered,
            condition=condition,
            over=over,
        )
        return call, self._place

    def _next(self, *words: str) -> bool:
        """Go on behind these words, if they follow."""
        following = self._tokens[self._place : self._place + len(words)]
        if [token.text.lower() for token in following] != list(words):
            return False
        self._place += len(words)
        return True

    def _bracket(self) -> Sequence[Token]:
        """Go on behind a bracket; give what is inside it."""
        begin, depth = self._place, 0
        for token in self._tokens[begin:]:
            self._place += 1
            depth += token.token_type == TokenType.L_PAREN
            depth -= token.token_type == TokenType.R_PAREN
            if depth == 0:
                break
        return self._tokens[begin + 1 : self._place - 1]

    def _slice(self, tokens: Sequence[Token]) -> str:
        return self._text[tokens[0].start : tokens[-1].end + 1] if tokens else ""


def _parts(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Cut at the commas that no bracket holds."""
    begin = depth = 0
    for place, token in enumerate(tokens):
        depth += token.token_type in _OPENING
        depth -= token.token_type in _CLOSING
        if token.token_type == TokenType.COMMA and depth == 0:
            yield tokens[begin:place]
            begin = place + 1
    if tokens:
        yield tokens[begin:]


_DIRECTIONS = {"asc", "desc", "nulls", "first", "last"}


def _bare(tokens: Sequence[Token]) -> Sequence[Token]:
    """Leave out in which direction to sort."""
    end = len(tokens)
    while end > 1 and tokens[end - 1].text.lower() in _DIRECTIONS:
        end -= 1
    return tokens[:end]
