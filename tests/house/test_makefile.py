"""The Makefile is short, says what each target does, and lists them by itself."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from support.harness.house_tree import ROOT

MOST_TARGETS = 15
_TARGET = re.compile(r"^([A-Za-z][\w-]*)\s*:(?![:=])[^#\n]*(?:## (.+))?$", re.MULTILINE)


def targets(makefile: str) -> dict[str, str]:
    """Give the targets that a person can name, with their comments."""
    return dict(_TARGET.findall(makefile))


def faults(makefile: str) -> list[str]:
    """Say what is wrong with the targets of a Makefile."""
    found = targets(makefile)
    problems = [f"{name} has no comment" for name in found if not found[name]]
    if len(found) > MOST_TARGETS:
        problems.append(f"{len(found)} targets")
    phony = re.findall(r"^\.PHONY:(.*)$", makefile, re.MULTILINE)
    declared = {name for line in phony for name in line.split()}
    problems += [f"{name} is not phony" for name in found if name not in declared]
    problems += [f"{name} is phony, but no target" for name in declared - set(found)]
    return problems


MAKEFILE = (ROOT / "Makefile").read_text()


def test_targets_are_few_and_described() -> None:
    assert {"demo", "test"} <= set(targets(MAKEFILE))
    assert not faults(MAKEFILE)


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")
def test_make_alone_lists_every_target() -> None:
    listing = subprocess.run(
        ["make", "--no-print-directory"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    shown = {line.split()[0]: " ".join(line.split()[1:]) for line in listing}

    assert shown == targets(MAKEFILE)


def test_the_contributors_guide_names_every_target() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"`make ([a-z-]+)", guide))

    assert named == set(targets(MAKEFILE))


def test_a_fault_in_a_makefile_is_caught() -> None:
    good = "X := 1\nall: a.txt ## do it\n\ttouch b: c\n.PHONY: all\n"

    assert not faults(good)
    assert faults(good.replace(" ## do it", "")) == ["all has no comment"]
    assert faults(good.replace(".PHONY: all", "")) == ["all is not phony"]
    assert faults(good + ".PHONY: gone\n") == ["gone is phony, but no target"]
    names = [f"t{n}" for n in range(16)]
    many = "".join(f"{name}: ## do it\n" for name in names)
    assert faults(f"{many}.PHONY: {' '.join(names)}\n") == ["16 targets"]
