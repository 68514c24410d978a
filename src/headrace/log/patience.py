"""Ask a cluster again while it says "not yet"."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException

_Answer = TypeVar("_Answer")

# A cluster answers so while leaders and coordinators are being found, at its
# start and after a broker has died. None of these says that something is wrong.
NOT_YET = frozenset(
    {
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
    }
)


def patiently(
    ask: Callable[[], _Answer],
    *,
    seconds: float,
    also: frozenset[int] = frozenset(),
) -> _Answer:
    """Ask until there is an answer, an error that will stay, or no time left.

    Args:
        ask: Sends the question anew and waits for its answer.
        seconds: How long "not yet" is taken for an answer.
        also: Further error codes that mean "not yet" for this question.

    Raises:
        KafkaException: The error that stayed.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return ask()
        except KafkaException as error:
            code = error.args[0].code()
            if code not in NOT_YET | also or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
