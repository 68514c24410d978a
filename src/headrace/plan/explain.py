"""Explain a pipeline without starting it: graph, schemas, state and guarantees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.plan.join_steps import AnyJoin, Joined, LateRows
from headrace.plan.native_joins import UNCOUNTED, native_joins
from headrace.plan.routes import by_trunk
from headrace.plan.steps import Output, Read, Stateful, Step, walk
from headrace.plan.window_steps import LateEvents, Panes, Window
from headrace.sinks import KafkaSink

_GUARANTEES = {
    "exactly-once": "each event once",
    "at-least-once": "no event lost; some may be repeated after a crash",
}

_SAME_KEY = {
    "append": "rows are added",
    "replace": "a row replaces the one of its key",
}

_NATIVE_JOIN = {"engine": "native", "uncounted": UNCOUNTED}

_DELETES = {
    "tombstone": "a deleted key is a record without a value",
    "remove": "the row of a deleted key is removed",
    "refuse": "deletes are refused",
}


def explain(
    name: str, outputs: Sequence[Output], *, lanes: int, dead_letter_topic: str
) -> dict[str, Any]:
    """Give all that is known of a pipeline before it runs, as plain data."""
    numbers = _numbers(outputs)
    steps = [step for step in numbers if not isinstance(step, Panes | Joined)]
    kept = {s.input for s in steps if isinstance(s, LateEvents | LateRows)}
    # Only a step that keeps something asks how far event time has come.
    timed = {
        read for step in steps if isinstance(step, Stateful) for read in walk(step)
    }
    native = native_joins(outputs)
    exactly_once = any(output.delivery == "exactly-once" for output in outputs)
    return {
        "pipeline": name,
        "group": f"headrace.{name}",
        "dead_letters": dead_letter_topic,
        "lanes": lanes,
        "delivery": "exactly-once" if exactly_once else "at-least-once",
        "evaluations": len(by_trunk(outputs)),
        "steps": [
            _step(step, numbers)
            | _watermark(step, timed)
            | _late(step, kept)
            | (_NATIVE_JOIN if step in native else {})
            for step in steps
        ],
        "outputs": [_output(output, numbers, exactly_once) for output in outputs],
    }


def _numbers(outputs: Sequence[Output]) -> dict[Step, int]:
    """Number the steps; what a window or a join gives is told with it."""
    numbers: dict[Step, int] = {}
    for output in outputs:
        for step in walk(output.step):
            same = step.input if isinstance(step, Panes | Joined) else step
            numbers.setdefault(step, numbers.get(same, len(set(numbers.values())) + 1))
    return numbers


def _watermark(step: Step, timed: set[Step]) -> dict[str, str]:
    """Say how a source's watermark is decided, where a step follows it."""
    if isinstance(step, Read) and step.time is not None and step in timed:
        return {"watermark": step.watermark.summary}
    return {}


def _late(step: Step, kept: set[Window | AnyJoin]) -> dict[str, str]:
    """Say what becomes of the late events of a window or a join."""
    if not isinstance(step, Window | AnyJoin):
        return {}
    unwritten = step.has_late_events and step not in kept
    counted = ", which no output writes: counted and not kept" if unwritten else ""
    return {"late": f"{step.late_events}{counted}"}


def _step(step: Step, numbers: dict[Step, int]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "step": numbers[step],
        "verb": step.verb,
        "does": step.summary,
        "from": [numbers[earlier] for earlier in step.inputs],
        "engine": step.engine,
        "state": step.state,
        "where": step.where,
        "key": step.key,
        "time": step.time,
        "columns": {field.name: _type(field.type.sql) for field in step.columns},
        "required": [field.name for field in step.columns if field.required],
    }
    if isinstance(step, Read):
        told["topic"] = step.topic
        told["format"] = step.format
        told["start"] = step.start
    return told


def _type(sql: str) -> str:
    return "known when planned" if sql == "void" else sql


def _output(
    output: Output, numbers: dict[Step, int], exactly_once: bool
) -> dict[str, Any]:
    sink = output.sink
    told: dict[str, Any] = {
        "output": output.name,
        "from": numbers[output.step],
        "sink": sink.system,
        "target": sink.target,
        "key": ", ".join(output.keys) or None,
        "where": output.where,
        "same_key": sink.same_key,
        "deletes": sink.deletes,
        "atomic": sink.atomic,
    }
    if isinstance(sink, KafkaSink):
        # All topics share the transaction, so the stronger delivery holds.
        delivery = "exactly-once" if exactly_once else output.delivery
        reads = ", for readers of committed data" if exactly_once else ""
        told |= {"topic": sink.topic, "format": sink.format}
    else:
        # A sink with a ledger of its own gives its best in any case.
        delivery, reads = sink.guarantees[0], ""
    return told | {"delivery": delivery, "guarantee": _GUARANTEES[delivery] + reads}


def explain_text(told: dict[str, Any]) -> str:
    """Give an explanation as a person reads it."""
    lines = [
        f'pipeline "{told["pipeline"]}": {told["delivery"]}, {told["lanes"]} lane(s), '
        f"{told['evaluations']} evaluation(s) of the source",
        f"  progress as group {told['group']}, dead letters in {told['dead_letters']}",
        "",
    ]
    for step in told["steps"]:
        came = ", ".join(str(number) for number in step["from"])
        lines.append(
            f"  {step['step']:>3}  {step['verb']:<10}{step['does']}"
            + (f"   <- {came}" if came else "")
        )
        state = step["state"] or "none"
        lines.append(f"       {step['engine']}; state: {state}; {step['where']}")
        columns = ", ".join(
            f"{name} {type_}" for name, type_ in step["columns"].items()
        )
        lines.append(f"       {columns}")
        if "watermark" in step:
            lines.append(f"       watermark: {step['watermark']}")
        if "late" in step:
            lines.append(f"       late events: {step['late']}")
        if "uncounted" in step:
            lines.append(f"       not counted: {step['uncounted']}")
    lines.append("")
    for output in told["outputs"]:
        keyed = f" keyed by {output['key']}" if output["key"] else ", without a key"
        written = f" as {output['format']}" if "format" in output else ""
        lines += [
            f'  output "{output["output"]}" <- {output["from"]}: '
            f"{output['target']}{written}{keyed}",
            f"       {output['delivery']}: {output['guarantee']}",
            f"       {_SAME_KEY[output['same_key']]}; {_DELETES[output['deletes']]}",
        ]
    return "\n".join(lines)
