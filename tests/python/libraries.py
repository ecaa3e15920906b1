"""Tests of behaviour that pylance has as well run with both, so that they cannot drift apart."""

import lance
import pytest

import pennon

both_libraries = pytest.mark.parametrize("library", [pennon, lance], ids=["pennon", "pylance"])
