"""A version of a pipeline writes beside the one that runs, and nothing of its own."""

from __future__ import annotations

import pytest

from headrace import HeadraceError, Pipeline, event, kafka, sinks


@event(key="card")
class Payment:
    card: str
    cents: int


def written() -> Pipeline:
    made = Pipeline("bank", lanes=2, dead_letter_limit=0.25)
    payments = made.read(kafka("payments", Payment))
    made.write("topic", payments, sinks.kafka("large"))
    made.write("cache", payments, sinks.redis("cards"))
    made.write("search", payments, sinks.opensearch("large"))
    made.write("lake", payments, sinks.delta("/lake/large/"))
    made.write("files", payments, sinks.files("/files/large"))
    made.write("rows", payments, sinks.postgres("large", key="card"))
    made.write("seen", payments, sinks.console())
    return made


def test_each_target_has_the_version_behind_its_name() -> None:
    before = written()

    after = before.beside("v2-trial")

    assert after.name == "bank-v2-trial"
    assert after.dead_letter_topic == "bank-v2-trial.dead-letters"
    assert (after.lanes, after.dead_letter_limit) == (2, 0.25)
    targets = [output.sink.target for output in after.outputs]
    assert all(
        name in target
        for name, target in zip(
            [
                "large-v2-trial",
                "cards-v2-trial",
                "large-v2-trial",
                "/lake/large-v2-trial",
                "/files/large-v2-trial",
                "large_v2_trial",
            ],
            targets[:-1],
            strict=True,
        )
    )
    assert targets[-1] == before.outputs[-1].sink.target
    assert [o.step for o in after.outputs] == [o.step for o in before.outputs]


def test_views_are_left_out() -> None:
    made = written()
    made.view("cards", made.table(kafka("cards", Payment)))

    assert [o.name for o in made.beside("v2").outputs] == [
        o.name for o in written().outputs
    ]


@pytest.mark.parametrize("version", ["", "V2", "a b"])
def test_a_version_that_is_no_name_is_refused(version: str) -> None:
    with pytest.raises(HeadraceError, match="name-refused"):
        written().beside(version)
