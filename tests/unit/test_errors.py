from __future__ import annotations

import pickle

import pytest

from headrace import HeadraceError, ServiceError, errors

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and kind.__module__ == errors.__name__
]


def test_an_error_is_a_fact_its_reason_a_way_on_and_a_place() -> None:
    error = ServiceError(
        "port-taken",
        "port 9092 is in use",
        detail="another program listens there.",
        hint="stop it.",
        where="headrace.toml",
    )

    assert str(error) == (
        "ServiceError [port-taken]: port 9092 is in use\n"
        "  detail: another program listens there.\n"
        "  hint:   stop it.\n"
        "  where:  headrace.toml"
    )


def test_an_error_shows_only_what_it_has() -> None:
    error = ServiceError(
        "port-taken", "port 9092 is in use", hint="stop it.", detail=""
    )

    assert str(error) == (
        "ServiceError [port-taken]: port 9092 is in use\n  hint:   stop it."
    )


def test_further_lines_stand_below_the_first() -> None:
    error = ServiceError("service-died", "redis stopped", detail="one\ntwo\nthree")

    assert str(error).splitlines()[1:] == [
        "  detail: one",
        "          two",
        "          three",
    ]


def test_an_error_is_known_by_its_slug() -> None:
    error = ServiceError("port-taken", "port 9092 is in use")

    assert error.slug == "port-taken"
    assert error.fact == "port 9092 is in use"
    assert (error.detail, error.hint, error.where) == (None, None, None)


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_can_be_caught_as_ours(kind: type[HeadraceError]) -> None:
    with pytest.raises(
        HeadraceError, match=rf"^{kind.__name__} \[some-slug\]: a fact$"
    ):
        raise kind("some-slug", "a fact")


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_survives_a_process_boundary(kind: type[HeadraceError]) -> None:
    error = kind("some-slug", "a fact", detail="a", hint="b", where="c")

    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes

    assert type(copy) is kind
    assert str(copy) == str(error)


def test_the_tree_in_the_docstring_names_every_error() -> None:
    drawn = errors.__doc__ or ""

    assert all(kind.__name__ in drawn for kind in KINDS)
