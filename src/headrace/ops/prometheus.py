"""The alert rules as a rules file of Prometheus."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.ops.conditions import length
from headrace.ops.rules import Rule


def rules_file(rules: Sequence[Rule], pipeline: str | None = None) -> str:
    """Give rules as YAML, for Prometheus 2.42 or newer.

    Args:
        rules: The rules.
        pipeline: Whose; by default those of every pipeline.
    """
    command = "headrace ops rules" + (f" --pipeline {pipeline}" if pipeline else "")
    lines = [f"# Made by `{command}`.", "groups:"]
    lines += [f"  - name: headrace{f'-{pipeline}' if pipeline else ''}", "    rules:"]
    where = f'{{pipeline="{pipeline}"}}' if pipeline else ""
    for rule in rules:
        lines += _rule(rule, where)
    return "".join(f"{line}\n" for line in lines)


def alert_name(rule: Rule) -> str:
    """Give a rule's name as Prometheus' alerts are named.

    Example:
        >>> from headrace.ops.rules import RULES
        >>> alert_name(RULES[0])
        'HeadraceLagGrowing'
    """
    return "Headrace" + "".join(word.capitalize() for word in rule.name.split("-"))


def _rule(rule: Rule, where: str) -> list[str]:
    said = rule.says.format(value="{{ $value | humanize }}")
    return [
        f"      - alert: {alert_name(rule)}",
        f"        expr: {_text(rule.condition.promql(rule.measure, where))}",
        f"        for: {length(rule.hold)}",
        f"        keep_firing_for: {length(rule.keep)}",
        "        labels:",
        f"          severity: {rule.severity}",
        "        annotations:",
        f"          summary: {_text('pipeline {{ $labels.pipeline }}: ' + said)}",
        f"          runbook: {_text(rule.page)}",
    ]


def _text(value: str) -> str:
    """Give a text of YAML, in which nothing but the quote itself is special."""
    return "'" + value.replace("'", "''") + "'"
