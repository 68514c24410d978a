"""What Python does not make a dataclass of, and what a key cannot be, is named."""

from __future__ import annotations

from dataclasses import KW_ONLY, InitVar, dataclass, field
from datetime import datetime
from typing import ClassVar

import pytest

from headrace import event
from headrace.event import event_type
from headrace.schema.values import to_json
from support.harness.refusals import refused


@event(key="card_id", time="made_at")
class Payment:
    card_id: str
    made_at: datetime
    note: str | None = None


def test_a_field_without_a_default_after_one_with_a_default_is_refused() -> None:
    with refused("event-not-a-dataclass") as caught:

        @event()
        class Sale:
            cents: int = 0
            card_id: str  # type: ignore[misc]  # it is what is refused

    assert "card_id" in (caught.value.detail or "")


def test_it_is_refused_in_an_heir_too() -> None:
    with refused("event-not-a-dataclass"):

        @event()
        class Refund(Payment):
            reason: str  # type: ignore[misc]  # it is what is refused


def test_a_default_that_can_change_is_refused() -> None:
    with refused("event-not-a-dataclass") as caught:

        @event()
        class Sale:
            tags: list[str] = []  # noqa: RUF012 - what is refused

    assert "field(default_factory=...)" in (caught.value.hint or "")


def test_a_default_may_be_made_anew_for_each_event() -> None:
    @event()
    class Sale:
        tags: list[str] = field(default_factory=list)

    assert to_json(Sale()) == b'{"tags": []}'


def test_an_heir_of_a_dataclass_that_can_change_is_refused() -> None:
    @dataclass
    class Changing:
        cents: int

    with refused("event-not-a-dataclass"):

        @event()
        class Sale(Changing):  # type: ignore[misc]  # it is what is refused
            card_id: str


def test_a_frozen_dataclass_is_not_made_one_again() -> None:
    with refused("event-not-a-dataclass"):

        @event()
        @dataclass(frozen=True)
        class Sale:
            cents: int


def test_a_class_that_is_refused_is_no_event() -> None:
    class Sale:
        cents: int = 0
        card_id: str

    with refused("event-not-a-dataclass"):
        event()(Sale)
    with refused("not-an-event"):
        event_type(Sale)


def test_fields_of_a_plain_base_class_are_refused() -> None:
    class Named:
        name: str

    with refused("field-not-inherited") as caught:

        @event()
        class Shop(Named):
            city: str

    assert caught.value.fact == '"Shop" does not inherit "name" from "Named"'


def test_fields_of_a_frozen_dataclass_are_inherited() -> None:
    @dataclass(frozen=True)
    class Named:
        name: str

    @event(key="name")
    class Shop(Named):
        city: str

    assert event_type(Shop).record.names == ["name", "city"]
    assert to_json(Shop("one", "Bern")) == b'{"name": "one", "city": "Bern"}'


def test_what_a_plain_base_class_says_of_classes_is_no_field() -> None:
    class Registered:
        known: ClassVar[dict[str, type]] = {}

        def register(self) -> None:
            self.known[type(self).__name__] = type(self)

    @event()
    class Shop(Registered):
        city: str

    assert event_type(Shop).record.names == ["city"]


def test_a_field_that_is_declared_again_has_the_place_that_python_gives_it() -> None:
    class Named:
        name: int

    @event()
    class Shop(Named):
        city: str
        name: str  # type: ignore[assignment]

    assert event_type(Shop).record.sql == "struct<city:string,name:string>"
    assert to_json(Shop("Bern", "one")) == b'{"city": "Bern", "name": "one"}'


def test_fields_may_be_given_by_keyword_alone() -> None:
    @event()
    class Sale:
        cents: int = 0
        _: KW_ONLY
        card_id: str

    assert event_type(Sale).record.names == ["cents", "card_id"]
    assert Sale(card_id="c1").cents == 0


def test_what_is_given_to_the_constructor_alone_is_no_field() -> None:
    @event()
    class Sale:
        cents: int
        checked: InitVar[bool] = True

    assert event_type(Sale).record.names == ["cents"]


@pytest.mark.parametrize("hint", ["float", "list[str]", "Payment"])
def test_a_key_that_bytes_do_not_identify_is_refused(hint: str) -> None:
    made = type("Sale", (), {"__annotations__": {"by": hint}})

    with refused("key-type-unsupported") as caught:
        event(key="by")(made)

    assert caught.value.fact.startswith('"Sale.by" of type ')


@pytest.mark.parametrize(
    "hint", ["str", "int", "bool", "bytes", "Decimal", "date", "datetime", "UUID"]
)
def test_every_other_type_can_be_a_key(hint: str) -> None:
    names: dict[str, type] = {}
    source = f"""
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID
from headrace import event

@event(key="by")
class Sale:
    by: {hint}
"""
    exec(compile(source, "m.py", "exec"), names)  # noqa: S102 - hints as they are

    assert event_type(names["Sale"]).key == "by"
