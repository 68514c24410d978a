"""What ``from headrace import ...`` offers is listed, sorted and described."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import headrace
from headrace import errors


def faults(namespace: dict[str, Any], listed: list[str]) -> list[str]:
    """Say what is wrong with a module's list of public names."""
    # Importing a room puts it into the namespace; it is public only if listed.
    public = {
        name
        for name, value in namespace.items()
        if not name.startswith("_")
        and (name in listed or not isinstance(value, ModuleType))
    }
    found = [f"{name} is public, but not listed" for name in sorted(public)]
    found = [fault for fault in found if fault.split()[0] not in listed]
    found += [f"{name} is listed, but not there" for name in set(listed) - public]
    if listed != sorted(set(listed)):
        found.append("the list is not sorted, or holds a name twice")
    for name in public & set(listed):
        value = namespace[name]
        # A class without a docstring would otherwise show the one it inherits.
        own = value.__doc__ if inspect.isclass(value) else inspect.getdoc(value)
        if not own:
            found.append(f"{name} has no docstring")
    return found


def test_the_public_names_are_complete_sorted_and_described() -> None:
    assert not faults(vars(headrace), headrace.__all__)


def test_every_error_is_public() -> None:
    defined = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and value.__module__ == errors.__name__
    }

    assert defined <= set(headrace.__all__)


def test_a_fault_in_the_list_is_caught() -> None:
    class Described:
        """Say something."""

    class Silent(Described):
        pass

    good = {"A": Described, "B": Described, "_c": 1, "inspect": inspect}

    assert not faults(good, ["A", "B"])
    assert not faults(good, ["A", "B", "inspect"])
    assert faults(good, ["A"]) == ["B is public, but not listed"]
    assert faults(good, ["A", "B", "C"]) == ["C is listed, but not there"]
    assert faults(good, ["B", "A"])
    assert faults({"A": Silent}, ["A"]) == ["A has no docstring"]
