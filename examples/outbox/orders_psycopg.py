"""Place orders with psycopg: the order and its event, in one transaction."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from psycopg import Connection

from headrace.cdc.outbox import OutboxEvent, put


def place_order(
    connection: Connection[Any], order_id: int, item: str, price: Decimal
) -> None:
    """Store an order and tell of it; either both happen or neither."""
    with connection.transaction():
        connection.execute(
            "insert into orders (id, item, price) values (%s, %s, %s)",
            (order_id, item, price),
        )
        placed = {"order_id": order_id, "item": item, "price": str(price)}
        put(connection, OutboxEvent("order", str(order_id), "OrderPlaced", placed))
