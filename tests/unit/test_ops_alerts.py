"""Alerts over made-up histories: when they begin, hold and are over."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from headrace.errors import SettingsError
from headrace.ops import families as known
from headrace.ops.alerts import Alerts, Change
from headrace.ops.families import DEAD_LETTERS, LAG
from headrace.ops.prometheus import alert_name, rules_file
from headrace.ops.rules import RULES, tuned
from support.cases.alert_histories import HISTORIES, STEP, History

PROMTOOL = os.environ.get("PROMTOOL") or shutil.which("promtool")
HOUR = 3600
QUICK = [("lag-growing.limit", "5"), ("lag-growing.over", "10s")]


def run(history: History) -> tuple[list[Change], dict[int, list[str]]]:
    """Give what began and ended, and which alerts were on at each moment."""
    alerts = Alerts(RULES)
    changes: list[Change] = []
    on: dict[int, list[str]] = {}
    for at in range(0, HOUR + 1, STEP):
        changes += alerts.look(at, history.values(at))
        on[at] = [rule.name for rule in alerts.firing()]
    return changes, on


@pytest.mark.parametrize("name", HISTORIES)
def test_an_alert_is_on_when_it_has_to_be_and_no_other_is(name: str) -> None:
    history = HISTORIES[name]

    _, on = run(history)

    assert [on[at] for at in history.on] == [[history.rule]] * len(history.on)
    assert [on[at] for at in history.off] == [[]] * len(history.off)


@pytest.mark.parametrize("name", [n for n, h in HISTORIES.items() if h.on])
def test_an_alert_begins_once_and_does_not_flap(name: str) -> None:
    changes, _ = run(HISTORIES[name])

    assert [change.began for change in changes] in ([True], [True, False])


@pytest.mark.parametrize("name", [n for n, h in HISTORIES.items() if h.on])
def test_the_past_is_not_made_up_after_a_restart(name: str) -> None:
    history = HISTORIES[name]
    alerts = Alerts(RULES)

    began = list(alerts.look(history.on[0], history.values(history.on[0])))

    # What is too large now is seen at once; what grows, rises or stands is not.
    is_now = history.rule == "batch-stalled"
    assert [change.rule.name for change in began] == [history.rule] * is_now


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
def test_prometheus_says_the_same_of_every_history(tmp_path: Path) -> None:
    assert PROMTOOL is not None
    (tmp_path / "rules.yml").write_text(rules_file(RULES))
    names = {rule.name: alert_name(rule) for rule in RULES}
    tests = []
    for history in HISTORIES.values():
        series = [
            {
                "series": f'{family.name}{{pipeline="p"}}',
                "values": " ".join(
                    "_" if (value := course(at)) is None else str(value)
                    for at in range(0, HOUR + 1, STEP)
                ),
            }
            for family, course in history.courses.items()
        ]
        # Promtool compares labels; the texts are compared elsewhere.
        told = [
            f'count(ALERTS{{alertname="{name}",alertstate="firing"}}) or vector(0)'
            for name in names.values()
        ]
        asked = [
            {
                "expr": expression,
                "eval_time": f"{at}s",
                "exp_samples": [
                    {"value": int(at in history.on and name in expression)}
                ],
            }
            for name in [names[history.rule]]
            for expression in told
            for at in (*history.on, *history.off)
        ]
        tests.append(
            {
                "interval": f"{STEP}s",
                "input_series": series,
                "promql_expr_test": asked,
            }
        )
    spec = {
        "rule_files": ["rules.yml"],
        "evaluation_interval": f"{STEP}s",
        "tests": tests,
    }
    # JSON is YAML.
    (tmp_path / "tests.yml").write_text(json.dumps(spec))

    checked = subprocess.run(
        [PROMTOOL, "check", "rules", "rules.yml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    done = subprocess.run(
        [PROMTOOL, "test", "rules", "tests.yml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_alert_names_itself_what_is_the_case_and_its_runbook() -> None:
    alerts = Alerts(tuned(RULES, [("dead-letters.keep", "1m")]))
    told = []
    for at, letters in [(0, 0.0), (30, 1234.0), (700, 1234.0)]:
        told += list(alerts.look(at, {DEAD_LETTERS: {(): letters}}))

    assert [str(change) for change in told] == [
        "alert dead-letters (warning): 1,234 input(s) could not be read; "
        "see docs/runbooks/schema-change.md",
        "alert dead-letters is over after 670 s",
    ]


def test_a_rule_can_have_other_numbers() -> None:
    alerts = Alerts(tuned(RULES, [*QUICK, ("lag-growing.hold", "0s")]))

    began = [
        change.rule.name
        for at in range(40)
        for change in alerts.look(at, {LAG: {(("partition", "0"),): at, (): at}})
    ]

    assert began == ["lag-growing"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lag-shrinking.limit", "1"),
        ("lag-growing.size", "1"),
        ("lag-growing", "1"),
        ("lag-growing.limit", "many"),
        ("lag-growing.over", "5"),
        ("lag-growing.over", "0s"),
        ("lag-growing.hold", "-1s"),
    ],
)
def test_a_number_that_no_rule_has_is_refused(name: str, value: str) -> None:
    with pytest.raises(SettingsError) as caught:
        tuned(RULES, [(name, value)])

    assert caught.value.slug == "setting-rejected"
    assert name in caught.value.fact
    assert value in str(caught.value.detail)


def test_every_rule_is_in_a_history() -> None:
    assert {h.rule for h in HISTORIES.values() if h.on} == {r.name for r in RULES}
    assert {f for rule in RULES for f in rule.condition.families} <= set(known.FAMILIES)
    assert all(rule.keep >= timedelta(0) for rule in RULES)
