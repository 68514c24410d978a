"""The same application, which writes to its database alone: the rest is captured."""

from __future__ import annotations

import argparse
import os
import signal

import psycopg


def main() -> None:
    """Place the orders that are not in the database yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database")
    parser.add_argument("--orders", type=int, required=True)
    parser.add_argument("--die-at", type=int)
    given = parser.parse_args()
    with psycopg.connect(given.database) as shop:
        row = shop.execute("select coalesce(max(id), 0) from captured").fetchone()
        done = row[0] if row else 0
        for number in range(done + 1, given.orders + 1):
            shop.execute("insert into captured values (%s, 'tea')", (number,))
            shop.commit()
            if number == given.die_at:
                os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
