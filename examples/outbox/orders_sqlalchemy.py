"""Place orders with SQLAlchemy: the order and its event, in one transaction."""

from __future__ import annotations

from decimal import Decimal

from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from headrace.cdc.outbox import OutboxEvent, put_with_session


class Model(DeclarativeBase):
    """What the application's classes share."""


class Order(Model):
    """An order, as the application knows it."""

    __tablename__ = "orders"

    id: Mapped[int] = mapped_column(primary_key=True)
    item: Mapped[str]
    price: Mapped[Decimal]


def place_order(session: Session, order_id: int, item: str, price: Decimal) -> None:
    """Store an order and tell of it; the session's commit commits both."""
    session.add(Order(id=order_id, item=item, price=price))
    placed = {"order_id": order_id, "item": item, "price": str(price)}
    event = OutboxEvent("order", str(order_id), "OrderPlaced", placed)
    # The row is gone at once, and its event comes all the same.
    put_with_session(session, event, keep=False)
