"""What ``headrace run`` refuses before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.cli.front import app
from headrace.errors import SettingsError


@pytest.mark.parametrize("master", ["spark://host:7077", "k8s://host:443", "yarn"])
def test_a_run_on_a_cluster_wants_a_checkpoint_that_all_machines_reach(
    tmp_path: Path, master: str
) -> None:
    done = CliRunner().invoke(
        app, ["run", str(tmp_path / "sales.py"), "--master", master]
    )

    assert isinstance(done.exception, SettingsError)
    assert done.exception.slug == "checkpoint-needed"
    assert done.exception.where == f"master {master}"


def test_a_setting_of_spark_has_a_name_and_a_value(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        app, ["run", str(tmp_path / "sales.py"), "--conf", "spark.ui.enabled"]
    )

    assert done.exit_code == 2
    assert '--conf "spark.ui.enabled" is not of the form name=value' in done.output
