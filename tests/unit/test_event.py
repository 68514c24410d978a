"""Events: what the decorator makes of a class, and what it refuses."""

from __future__ import annotations

import dataclasses
import textwrap
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import ClassVar

import pytest

from headrace import digits, event
from headrace.event import event_type
from headrace.schema.types import Choice, Record, Text
from support.harness.refusals import refused


@event(key="card_id", time="made_at")
class Payment:
    card_id: str
    amount: Decimal
    made_at: datetime
    note: str | None = None


def test_an_event_is_a_frozen_dataclass() -> None:
    payment = Payment("c1", Decimal("9.90"), datetime(2026, 3, 29, 10, 15))

    assert payment == dataclasses.replace(payment, note=None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        payment.note = "changed"  # type: ignore[misc]  # it is what is refused


def test_an_event_knows_its_name_key_time_and_fields() -> None:
    known = event_type(Payment)

    assert (known.name, known.key, known.time) == ("Payment", "card_id", "made_at")
    assert known.record.names == ["card_id", "amount", "made_at", "note"]


def test_an_event_remembers_the_line_it_was_declared_on() -> None:
    file, _, line = event_type(Payment).where.partition(":")
    with open(__file__) as source:  # noqa: PTH123 - the line number is what counts
        declared = source.read().splitlines()[int(line) - 1]

    assert file == "test_event.py"
    assert declared == '@event(key="card_id", time="made_at")'


def test_an_event_needs_neither_key_nor_time() -> None:
    @event()
    class Beat:
        count: int

    assert (event_type(Beat).key, event_type(Beat).time) == (None, None)


def test_hints_that_are_texts_see_the_names_around_the_class() -> None:
    class Kind(Enum):
        CARD = "card"

    @event()
    class Sale:
        kind: Kind

    assert event_type(Sale).record["kind"].type == Choice(("card",))


def test_hints_see_the_names_inside_the_class() -> None:
    @event()
    class Sale:
        class Kind(Enum):
            CARD = "card"

        kind: Kind

    assert event_type(Sale).record["kind"].type == Choice(("card",))


def test_hints_that_are_objects_give_the_same_as_hints_that_are_texts() -> None:
    source = """
    from datetime import datetime
    from decimal import Decimal
    from headrace import event

    @event(key="card_id", time="made_at")
    class Payment:
        card_id: str
        amount: Decimal
        made_at: datetime
        note: str | None = None
    """
    names: dict[str, type] = {}
    exec(compile(textwrap.dedent(source), "m.py", "exec", dont_inherit=True), names)  # noqa: S102

    assert event_type(names["Payment"]).record == event_type(Payment).record


def test_a_field_may_be_called_like_its_type() -> None:
    @event()
    class Delivery:
        date: date | None = None

    assert event_type(Delivery).record.sql == "struct<date:date>"


def test_what_belongs_to_the_class_is_no_field() -> None:
    @event()
    class Sale:
        currency: ClassVar[str] = "EUR"
        cents: int

    assert event_type(Sale).record.names == ["cents"]


def test_an_event_may_extend_another() -> None:
    @event(key="card_id", time="made_at")
    class Refund(Payment):
        reason: str = ""

    record = event_type(Refund).record

    assert record.names == ["card_id", "amount", "made_at", "note", "reason"]
    assert "reason" not in event_type(Payment).record


def test_a_nested_event_is_a_record() -> None:
    @event()
    class Address:
        city: str

    @event()
    class Order:
        to: Address

    found = event_type(Order).record["to"].type

    assert isinstance(found, Record)
    assert found["city"].type == Text()


def test_a_class_without_the_decorator_is_no_event() -> None:
    class Plain:
        card_id: str

    with refused("not-an-event"):
        event_type(Plain)


def test_a_class_that_inherits_an_event_is_none_itself() -> None:
    class Refund(Payment):
        reason: str = ""

    with refused("not-an-event"):
        event_type(Refund)


def test_what_is_no_class_is_no_event() -> None:
    with refused("not-an-event") as caught:
        event_type("Payment")  # type: ignore[arg-type]

    assert caught.value.fact == "\"'Payment'\" is not an event"


@pytest.mark.parametrize("role", ["key", "time"])
def test_a_key_or_time_that_is_no_field_is_refused(role: str) -> None:
    with refused("event-field-unknown") as caught:

        @event(**{role: "card"})
        class Sale:
            card_id: str

    assert caught.value.fact == f'the {role} of "Sale" is "card", which is not a field'
    assert caught.value.detail == "its fields are card_id."


@pytest.mark.parametrize("role", ["key", "time"])
def test_a_key_or_time_that_may_be_none_is_refused(role: str) -> None:
    with refused("event-field-optional"):

        @event(**{role: "at"})
        class Sale:
            at: datetime | None


def test_an_event_time_that_is_no_datetime_is_refused() -> None:
    with refused("time-not-a-datetime") as caught:

        @event(time="day")
        class Sale:
            day: date

    assert caught.value.hint == "declare it as `day: datetime`."


def test_an_event_without_fields_is_refused() -> None:
    with refused("event-empty"):

        @event()
        class Nothing:
            pass


def test_a_hint_that_names_nothing_is_refused() -> None:
    with refused("hint-unresolved") as caught:

        @event()
        class Sale:
            amount: Dezimal  # type: ignore[name-defined]  # noqa: F821

    assert caught.value.detail == "name 'Dezimal' is not defined"


def test_a_hint_that_cannot_be_evaluated_is_refused() -> None:
    with refused("hint-unresolved"):

        @event()
        class Sale:
            amount: datetime.decimal  # type: ignore[name-defined]


@pytest.mark.parametrize(
    "hint",
    ["dict[str, int]", "tuple[int, int]", "object", "list", "int | str", "list[set]"],
)
def test_a_type_that_no_event_can_carry_is_refused(hint: str) -> None:
    made = type("Sale", (), {"__annotations__": {"amount": hint}})

    with refused("type-unsupported") as caught:
        event()(made)

    assert caught.value.fact.startswith('"Sale.amount" has the type ')
    assert "Decimal" in (caught.value.detail or "")


def test_a_class_that_is_no_event_cannot_be_nested() -> None:
    class Address:
        city: str

    with refused("type-unsupported"):

        @event()
        class Order:
            to: Address


def test_a_field_that_begins_with_an_underscore_is_refused() -> None:
    with refused("field-name-reserved") as caught:

        @event()
        class Sale:
            _dead: str

    assert caught.value.hint == 'rename it to "dead".'


def test_fields_that_differ_in_case_alone_are_refused() -> None:
    with refused("field-name-taken") as caught:

        @event()
        class Sale:
            userId: int  # noqa: N815
            userid: int

    assert caught.value.fact == '"Sale" has the fields "userId" and "userid"'


@pytest.mark.parametrize(("precision", "scale"), [(0, 0), (39, 0), (5, 6), (5, -1)])
def test_digits_that_no_engine_holds_are_refused(precision: int, scale: int) -> None:
    with refused("digits-out-of-range"):
        digits(precision, scale)
