"""What topics hold of committed transactions, read to its end."""

from __future__ import annotations

from collections.abc import Iterator

from confluent_kafka import Consumer, Message, TopicPartition

from headrace.log import client_settings


def committed(bootstrap: str, topics: list[str], group: str) -> Iterator[Message]:
    """Read what topics hold, without what no transaction has committed."""
    settings = {"group.id": group, "isolation.level": "read_committed"}
    consumer = Consumer({**client_settings(bootstrap), **settings})
    left = {}
    for topic in topics:
        for partition in consumer.list_topics(topic, 10).topics[topic].partitions:
            place = TopicPartition(topic, partition, 0)
            low, high = consumer.get_watermark_offsets(place, 10)
            if high > low:
                left[topic, partition] = high
    consumer.assign([TopicPartition(*place, 0) for place in left])
    while left:
        yield from consumer.consume(1000, 0.2)
        for place in consumer.position([TopicPartition(*place) for place in left]):
            # The last offset may be a transaction's end, which is no message.
            if place.offset >= left[place.topic, place.partition]:
                del left[place.topic, place.partition]
    consumer.close()
