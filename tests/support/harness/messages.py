"""Messages of Kafka that were read, whose parts have to be there."""

from __future__ import annotations

from confluent_kafka import Message


def topic_of(message: Message) -> str:
    """Give the topic of a message; only one that was never sent has none."""
    topic = message.topic()
    assert topic is not None
    return topic


def key_of(message: Message) -> bytes:
    """Give a key that has to be there."""
    key = message.key()
    assert key is not None, message
    return key


def value_of(message: Message) -> bytes:
    """Give a value that has to be there."""
    value = message.value()
    assert value is not None, message
    return value


def headers_of(message: Message) -> dict[str, str]:
    """Give headers whose values are text, as they are read: in bytes."""
    found = {}
    for name, value in dict(message.headers() or ()).items():
        assert isinstance(value, bytes), name
        found[name] = value.decode()
    return found
