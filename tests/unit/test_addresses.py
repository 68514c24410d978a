"""Addresses: the settings name a server, or it is our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import ServiceError
from headrace.services.addresses import Addresses
from headrace.services.stack import Stack
from headrace.settings import load_settings


def test_a_database_of_the_settings_is_found_by_its_name(tmp_path: Path) -> None:
    bank = "postgresql://reader@db:5432/bank?passfile=/run/pass"
    settings = load_settings(databases={"bank": bank})

    assert Addresses(settings, Stack(tmp_path, settings)).database("bank") == bank


def test_servers_of_the_settings_are_used(tmp_path: Path) -> None:
    settings = load_settings(redis="redis://cache:6379/1", connect="http://c:8083")
    found = Addresses(settings, Stack(tmp_path, settings))

    assert (found.redis(), found.connect()) == ("redis://cache:6379/1", "http://c:8083")


def test_where_nothing_was_started_that_is_said(tmp_path: Path) -> None:
    settings = load_settings()

    with pytest.raises(ServiceError) as caught:
        Addresses(settings, Stack(tmp_path / "none", settings)).opensearch()
    assert caught.value.slug == "nothing-started"
