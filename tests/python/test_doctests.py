"""The examples in the package's docstrings."""

import doctest
import importlib
import pkgutil

import pytest

import pennon

MODULES = ["pennon"] + [
    module.name
    for module in pkgutil.walk_packages(pennon.__path__, "pennon.")
    if not module.name.startswith("pennon._")
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_are_true(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.failed == 0
