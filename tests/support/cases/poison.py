"""Inputs that cannot be read, each with the reason that has to be given."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

SYMBOLS = ["CH", "DE", "FR"]


def field(name: str, kind: Any, *, required: bool = False, **metadata: Any) -> Any:
    return {
        "name": name,
        "type": kind,
        "nullable": not required,
        "metadata": metadata,
    }


def struct(*fields: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def list_of(kind: Any, *, nulls: bool = False) -> dict[str, Any]:
    return {"type": "array", "elementType": kind, "containsNull": nulls}


PAYMENT = struct(
    field("card_id", "string", required=True),
    field("user_id", "long", required=True),
    field("amount", "decimal(12,2)", required=True),
    field("country", "string", required=True, headrace="enum", symbols=SYMBOLS),
    field("made_at", "timestamp", required=True),
    field("score", "double"),
    field("born", "date"),
    field("token", "string", headrace="uuid"),
    field("photo", "binary"),
    field("flagged", "boolean"),
    field("tags", list_of("string")),
    field("home", struct(field("city", "string", required=True), field("zip", "long"))),
    field("stops", list_of(struct(field("city", "string", required=True)))),
)

GOOD: dict[str, Any] = {
    "card_id": "c-1",
    "user_id": 7,
    "amount": 12.5,
    "country": "CH",
    "made_at": "2026-03-29T10:15:30.123456+02:00",
}


@dataclass(frozen=True)
class Poison:
    """A value, why it cannot be read, and what the detail has to say."""

    name: str
    value: bytes | None
    reason: str
    detail: str

    def __str__(self) -> str:
        return self.name


def raw(name: str, value: bytes, reason: str, detail: str) -> Poison:
    return Poison(name, value, reason, detail)


def bent(name: str, reason: str, detail: str, **changes: Any) -> Poison:
    """Give the good event with fields of other values."""
    return Poison(name, json.dumps(GOOD | changes).encode(), reason, detail)


def spelled(name: str, written: str, reason: str, detail: str) -> Poison:
    """Give the good event with one field more, or twice, as it is written."""
    text = json.dumps(GOOD)[:-1] + ", " + written + "}"
    return Poison(name, text.encode(), reason, detail)


def without(name: str) -> bytes:
    return json.dumps({k: v for k, v in GOOD.items() if k != name}).encode()


_TEXT = json.dumps(GOOD).encode()
_MALFORMED = "json-malformed"
_RANGE = "number-out-of-range"
_TYPE = "field-wrong-type"
_TIME = "timestamp-unreadable"

POISON = [
    Poison("a tombstone", None, "value-missing", "there is no value"),
    raw("no bytes", b"", _MALFORMED, "there is no text"),
    raw("white space", b"  \n", _MALFORMED, "there is no text"),
    raw("cut in a name", _TEXT[:4], _MALFORMED, "ends too early"),
    raw("cut in a number", _TEXT[:31], _MALFORMED, "ends too early"),
    raw("cut before the brace", _TEXT[:-1], _MALFORMED, "ends too early"),
    raw("no JSON", b"card=c-1", _MALFORMED, "at byte"),
    raw("single quotes", _TEXT.replace(b'"', b"'"), _MALFORMED, "at byte"),
    raw("a comment", b"/* hi */" + _TEXT, _MALFORMED, "at byte"),
    raw("a comma too many", _TEXT[:-1] + b",}", _MALFORMED, "at byte"),
    raw("a NUL in a text", _TEXT.replace(b"c-1", b"c\x001"), _MALFORMED, "at byte"),
    raw("a line break in a text", _TEXT.replace(b"c-1", b"c\n1"), _MALFORMED, "byte"),
    raw("NULs only", bytes(64), _MALFORMED, "byte 0 is NUL"),
    raw("leading zeros", _TEXT.replace(b" 7,", b" 007,"), _MALFORMED, "at byte"),
    raw("UTF-16", _TEXT.decode().encode("utf-16-le"), _MALFORMED, "is NUL"),
    raw("UTF-16 with a mark", _TEXT.decode().encode("utf-16"), "text-not-utf8", "byte"),
    raw("a stray byte", _TEXT.replace(b"c-1", b"c\xff1"), "text-not-utf8", "0xff"),
    raw("Latin-1", _TEXT.replace(b"c-1", b"M\xfcller"), "text-not-utf8", "0xfc"),
    raw("overlong", _TEXT.replace(b"c-1", b"\xc0\xaf"), "text-not-utf8", "0xc0"),
    raw("a surrogate", _TEXT.replace(b"c-1", b"\xed\xa0\x80"), "text-not-utf8", "0xed"),
    raw("a cut character", _TEXT + b"\xe2\x82", "text-not-utf8", "0xe2"),
    raw(
        "half a surrogate pair",
        _TEXT.replace(b"c-1", b"\\ud800"),
        "text-not-utf8",
        "card_id: half a surrogate pair",
    ),
    raw("two objects", _TEXT + _TEXT, "json-trailing-text", "after the object"),
    raw("text behind", _TEXT + b" oops", "json-trailing-text", "after the object"),
    raw("a brace too many", _TEXT + b"}", "json-trailing-text", "after the object"),
    raw(
        "nested too deep",
        _TEXT[:-1] + b', "x": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        "json-too-deep",
        "levels deep",
    ),
    raw("opened for ever", b'{"a":' * 100_000, "json-too-deep", "levels deep"),
    raw("a list", b"[" + _TEXT + b"]", _TYPE, "an object is required, a list came"),
    raw("a bare text", b'"c-1"', _TYPE, 'the text "c-1" came'),
    raw("a bare null", b"null", _TYPE, "an object is required, null came"),
    raw("an empty object", b"{}", "field-missing", "card_id: it is missing"),
    raw("no amount", without("amount"), "field-missing", "amount: it is missing"),
    raw("another case", _TEXT.replace(b"card_id", b"Card_Id"), "field-missing", "card"),
    spelled("twice", '"user_id": 7', "json-duplicate-field", "user_id"),
    spelled(
        "twice in a nested one",
        '"home": {"city": "Bern", "zip": null, "zip": 1}',
        "json-duplicate-field",
        "home.zip",
    ),
    bent("a null key", "field-null", "card_id: it is null", card_id=None),
    bent("a null in a list", "field-null", "tags[1]", tags=["a", None]),
    bent("a number for a text", _TYPE, "card_id: a text is required, 5", card_id=5),
    bent("a text for a number", _TYPE, "user_id: a whole number", user_id="7"),
    bent("a fraction", _TYPE, "user_id: a whole number", user_id=7.5),
    bent("true for a number", _TYPE, "true came", user_id=True),
    bent("a list for a text", _TYPE, "a list came", card_id=["c-1"]),
    bent("an object for a text", _TYPE, "an object came", card_id={"a": 1}),
    bent("a text for a list", _TYPE, "tags: a list is required", tags="a"),
    bent("a text for true", _TYPE, 'the text "true" came', flagged="true"),
    bent("a text for an object", _TYPE, "home: an object", home="Bern"),
    bent(
        "a number deep inside",
        _TYPE,
        "stops[1].city",
        stops=[{"city": "A"}, {"city": 1}],
    ),
    bent("missing deep inside", "field-missing", "stops[0].city", stops=[{}]),
    bent("a word for a decimal", _TYPE, "amount: a decimal number", amount="a lot"),
    bent("digits of another script", _TYPE, "amount", amount="١٢"),
    bent("2^63", _RANGE, "user_id: a whole number from", user_id=2**63),
    bent("a hundred digits", _RANGE, "user_id", user_id=10**100),
    spelled("1e30", '"x": 1, "home": {"city": "A", "zip": 1e30}', _RANGE, "home.zip"),
    raw("1e999999999", _TEXT.replace(b" 7,", b" 1e999999999,"), _RANGE, "user_id"),
    raw(
        "2000 digits", _TEXT.replace(b" 7,", b" " + b"9" * 2000 + b","), _RANGE, "1000"
    ),
    raw("an exponent", _TEXT.replace(b" 7,", b" 1e99999999999,"), _RANGE, ""),
    raw("NaN", _TEXT.replace(b" 7,", b" NaN,"), _RANGE, "user_id"),
    spelled("NaN as a double", '"score": NaN', _RANGE, "score: a number"),
    spelled("Infinity", '"score": -Infinity', _RANGE, "-Infinity came"),
    spelled("1e400", '"score": 1e400', _RANGE, "score"),
    raw("NaN money", _TEXT.replace(b"12.5", b"NaN"), _RANGE, "amount"),
    bent("too many digits", _RANGE, "at most 10 digits", amount=12345678901),
    raw("a third decimal", _TEXT.replace(b"12.5", b"12.345"), _RANGE, "2 after it"),
    raw("huge money", _TEXT.replace(b"12.5", b"1e99999999999"), _RANGE, "amount"),
    raw("tiny money", _TEXT.replace(b"12.5", b"1e-999999999"), _RANGE, "amount"),
    bent("an unknown country", "enum-unknown", "one of CH, DE, FR", country="XX"),
    bent("a small letter", "enum-unknown", '"ch" came', country="ch"),
    bent("no offset", _TIME, "with an offset", made_at="2026-03-29T10:15:30"),
    bent("a date for a time", _TIME, "made_at", made_at="2026-03-29"),
    bent("the 30th of February", _TIME, "02-30", made_at="2026-02-30T10:15:30Z"),
    bent("the 25th hour", _TIME, "made_at", made_at="2026-03-29T25:15:30Z"),
    bent("a leap second", _TIME, "made_at", made_at="2016-12-31T23:59:60Z"),
    bent("an empty time", _TIME, "made_at", made_at=""),
    bent("ten decimals", _TIME, "made_at", made_at="2026-03-29T10:15:30.0123456789Z"),
    bent("epoch milliseconds", _TYPE, "a timestamp as text", made_at=1774778400000),
    bent("no such day", "date-unreadable", "born", born="1900-02-29"),
    bent("a date backwards", "date-unreadable", '"29.03.2026"', born="29.03.2026"),
    bent("a short UUID", "uuid-unreadable", "token", token="6ba7b810-9dad-11d1-80b4"),
    bent(
        "a UUID with a g",
        "uuid-unreadable",
        "token",
        token="g" * 8 + "-9dad-11d1-80b4-00c04fd430c8",
    ),
    bent("no base64", "bytes-not-base64", "photo", photo="%%%"),
    raw("too large", b" " * (10 * 2**20) + _TEXT, "value-too-large", "10485760"),
]
