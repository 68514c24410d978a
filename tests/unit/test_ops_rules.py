"""The rules file, the runbooks, and that what they name exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from headrace.cli.front import app
from headrace.errors import SettingsError
from headrace.ops.families import FAMILIES
from headrace.ops.rules import RULES

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "runbooks").glob("*.md"))
OPERATIONS = ROOT / "docs" / "operations.md"
_COMMAND = re.compile(r"^\$ (headrace [^\n|]+)", re.MULTILINE)
_INLINE = re.compile(r"`(headrace [^`]+)`")
_METRIC = re.compile(r"`(headrace_[a-z_]+)")


def commands(page: str) -> list[str]:
    """Give the commands of ours that a page shows."""
    return _COMMAND.findall(page) + _INLINE.findall(page)


def require_command(text: str) -> None:
    """Fail unless the command line has such a command with such options."""
    words = shlex.split(text)[1:]
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        assert words, f"{text}: a command is missing"
        found = command.commands.get(words[0])
        assert found is not None, f"{text}: there is no command {words[0]}"
        command, words = found, words[1:]
    options = {name for parameter in command.params for name in parameter.opts}
    for word in words:
        if word.startswith("--"):
            assert word.partition("=")[0] in options, f"{text}: no option {word}"


def test_the_rules_of_the_fraud_example_are_those_of_the_product() -> None:
    done = CliRunner().invoke(app, ["ops", "rules", "--pipeline", "fraud"])

    assert done.exit_code == 0
    assert done.stdout == (ROOT / "examples" / "fraud" / "alerts.yml").read_text()


def test_rules_can_be_printed_with_other_numbers() -> None:
    arguments = ["--alert", "checkpoint-slow.limit=2.5", "--alert"]
    done = CliRunner().invoke(
        app, ["ops", "rules", *arguments, "checkpoint-slow.hold=90s"]
    )

    assert "max by (pipeline) (headrace_checkpoint_seconds) > 2.5'" in done.stdout
    assert "        for: 90s\n" in done.stdout
    refused = CliRunner().invoke(app, ["ops", "rules", "--alert", "lag.limit=1"])
    assert isinstance(refused.exception, SettingsError)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_has_a_line_and_a_runbook_that_names_it(rule: object) -> None:
    assert isinstance(rule, type(RULES[0]))
    page = (ROOT / rule.page).read_text()

    assert f"`{rule.name}`" in page
    assert re.search(
        rf"^\| `{rule.name}` \|.*\| {rule.severity} \|.*\]\(runbooks/{rule.runbook}.md",
        OPERATIONS.read_text(),
        re.MULTILINE,
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_runbook_says_what_is_seen_why_and_what_to_do_and_not_to_do(
    page: Path,
) -> None:
    text = page.read_text()

    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings == ["Find the cause", "What to do", "What not to do"]
    assert "**What you see.**" in text
    assert f"(runbooks/{page.name})" in OPERATIONS.read_text()


@pytest.mark.parametrize("page", [*PAGES, OPERATIONS], ids=lambda page: page.stem)
def test_the_commands_and_metrics_of_a_page_exist(page: Path) -> None:
    text = page.read_text()
    names = {family.name for family in FAMILIES}

    assert commands(text)
    for command in commands(text):
        require_command(command)
    assert set(_METRIC.findall(text)) <= names


@pytest.mark.parametrize(
    "text", ["headrace ops lag", "headrace nothing", "headrace run x.py --metric 1"]
)
def test_a_command_that_does_not_exist_is_caught(text: str) -> None:
    assert commands(f"$ {text}\n") == commands(f"`{text}`") == [text]
    with pytest.raises(AssertionError, match="no "):
        require_command(text)


@pytest.mark.parametrize("at", ["nowhere", "host:", "70000", "host:port"])
def test_metrics_are_served_at_a_port(tmp_path: Path, at: str) -> None:
    done = CliRunner().invoke(app, ["run", str(tmp_path / "p.py"), "--metrics", at])

    assert done.exit_code == 2
    assert "is neither PORT nor HOST:PORT" in done.output
