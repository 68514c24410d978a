"""An application that writes to its database, and then to Kafka.

Between the two it can die, and here it does.
"""

from __future__ import annotations

import argparse
import json
import os
import signal

import psycopg
from confluent_kafka import Producer

TOPIC = "dual-write.orders"


def main() -> None:
    """Place the orders that are not in the database yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database")
    parser.add_argument("bootstrap")
    parser.add_argument("--orders", type=int, required=True)
    parser.add_argument("--die-at", type=int)
    given = parser.parse_args()
    producer = Producer({"bootstrap.servers": given.bootstrap, "acks": "all"})
    with psycopg.connect(given.database) as shop:
        row = shop.execute("select coalesce(max(id), 0) from naive").fetchone()
        done = row[0] if row else 0
        for number in range(done + 1, given.orders + 1):
            shop.execute("insert into naive values (%s, 'tea')", (number,))
            shop.commit()
            if number == given.die_at:
                os.kill(os.getpid(), signal.SIGKILL)
            producer.produce(TOPIC, key=str(number), value=json.dumps({"id": number}))
            producer.flush()


if __name__ == "__main__":
    main()
