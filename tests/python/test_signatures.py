"""Functions that pylance has too are called as in pylance: programs run with either."""

import inspect
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import lance
import lance.fragment
import pytest

import pennon
import pennon.fragment

CLASSES = ["LanceDataset", "LanceScanner", "LanceFragment", "FragmentMetadata"]
OURS_ALONE = {"LanceDataset.to_reader"}
# Parameters that pylance does not have.
ADDED = {
    "dataset": {"verify_checksums"},
    "LanceDataset": {"verify_checksums"},
    "write_dataset": {"durable"},
    "fragment.write_fragments": {"durable"},
    "LanceDataset.commit": {"durable"},
}
# Where pylance has another default that means the same, or allows to leave out what is needed.
OTHER_DEFAULTS = {
    ("dataset", "uri"),
    ("write_dataset", "uri"),
    ("LanceDataset.scanner", "with_row_id"),
    ("LanceDataset.scanner", "with_row_address"),
    ("fragment.DataFile", "column_indices"),
    ("fragment.DeletionFile", "base_id"),
}


def both(path: str) -> tuple[Any, Any]:
    """What this path names in both libraries."""
    get = attrgetter(path)
    return get(pennon), get(lance)


def methods() -> list[str]:
    """The paths of all public methods of the classes."""
    return [
        f"{name}.{member}"
        for name in CLASSES
        for member in vars(getattr(pennon, name))
        if not member.startswith("_") and f"{name}.{member}" not in OURS_ALONE
    ]


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters that have a name of their own."""
    given = inspect.signature(function).parameters.values()
    return [one for one in given if one.kind is not one.VAR_KEYWORD]


CALLED = [
    "dataset",
    "write_dataset",
    "fragment.write_fragments",
    "LanceOperation.Append",
    "LanceOperation.Overwrite",
    "LanceOperation.Delete",
    "LanceOperation.Restore",
    "fragment.DataFile",
    "fragment.DeletionFile",
    "fragment.FragmentMetadata",
    "LanceDataset",
    "LanceFragment",
    *(path for path in methods() if callable(both(path)[0])),
]


@pytest.mark.parametrize("path", CALLED)
def test_positional_arguments_mean_what_they_mean_in_pylance(path: str) -> None:
    ours, theirs = (
        [one.name for one in parameters(function) if one.kind is one.POSITIONAL_OR_KEYWORD]
        for function in both(path)
    )
    assert ours == theirs[: len(ours)]


@pytest.mark.parametrize("path", CALLED)
def test_parameters_have_the_names_and_defaults_of_pylance(path: str) -> None:
    ours, theirs = (
        {one.name: one.default for one in parameters(function)} for function in both(path)
    )
    anything = any(
        one.kind is one.VAR_KEYWORD for one in inspect.signature(both(path)[1]).parameters.values()
    )
    added = ADDED.get(path, set())
    assert added.isdisjoint(theirs)
    assert anything or set(ours) - added <= set(theirs)
    differing = {
        (path, name)
        for name, default in ours.items()
        if name in theirs and repr(default) != repr(theirs[name])
    }
    assert differing == {pair for pair in OTHER_DEFAULTS if pair[0] == path}


@pytest.mark.parametrize("path", [path for path in methods() if not callable(both(path)[0])])
def test_properties_are_properties_in_pylance(path: str) -> None:
    ours, theirs = both(path)
    assert isinstance(ours, property) == isinstance(theirs, property)


@pytest.mark.parametrize("path", sorted(OURS_ALONE))
def test_what_only_pennon_has_is_listed(path: str) -> None:
    owner, _, member = path.rpartition(".")
    assert not hasattr(attrgetter(owner)(lance), member)
