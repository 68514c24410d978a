"""Events for the outbox are checked before they are written."""

from __future__ import annotations

from decimal import Decimal

import pytest

from headrace import CaptureError, StepError
from headrace.cdc.outbox import OutboxEvent, table_ddl


@pytest.mark.parametrize("kind", ["", "an order", "order/x", "Größe"])
def test_a_type_that_names_no_topic_is_refused(kind: str) -> None:
    with pytest.raises(CaptureError, match="outbox-event-refused"):
        OutboxEvent(kind, "1", "OrderPlaced", {})


@pytest.mark.parametrize("value", [Decimal("1.5"), float("nan"), object()])
def test_a_payload_that_is_no_json_is_refused(value: object) -> None:
    with pytest.raises(CaptureError, match="outbox-event-refused"):
        OutboxEvent("order", "1", "OrderPlaced", {"x": value})


def test_events_have_ids_of_their_own() -> None:
    one, other = (OutboxEvent("order", "1", "OrderPlaced", {}) for _ in range(2))

    assert one.id != other.id


def test_an_outbox_can_have_another_name() -> None:
    assert "shop.events (" in table_ddl("shop.events")
    assert 'shop."Events" (' in table_ddl("shop.Events")
    with pytest.raises(StepError, match="table-name-refused"):
        table_ddl("outbox; drop table users")
