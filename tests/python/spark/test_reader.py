"""Scanning Lance datasets with Spark."""

import pickle
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import pennon
import pennon.spark
from pennon.spark.reader import Split, balance

pytestmark = pytest.mark.spark


@pytest.fixture
def numbers(tmp_path: Path) -> str:
    """1,000 rows in ten fragments, of which the third has lost half of its rows."""
    uri = str(tmp_path / "numbers")
    table = pa.table({"id": range(1000), "name": [f"n{i % 7}" for i in range(1000)]})
    dataset = pennon.write_dataset(table, uri, max_rows_per_file=100)
    dataset.delete("id >= 200 AND id < 250")
    return uri


def test_a_scan_returns_all_rows_in_order(spark: SparkSession, numbers: str) -> None:
    df = pennon.spark.scan(spark, numbers, partitions=3)
    assert df.columns == ["id", "name"]
    assert [row.id for row in df.collect()] == [i for i in range(1000) if not 200 <= i < 250]


def test_columns_and_filter_are_applied(spark: SparkSession, numbers: str) -> None:
    df = pennon.spark.scan(spark, numbers, columns=["name"], filter="id < 3 OR id = 999")
    assert [tuple(row) for row in df.collect()] == [("n0",), ("n1",), ("n2",), ("n5",)]


def test_a_version_stays_pinned_while_others_commit(spark: SparkSession, numbers: str) -> None:
    latest = pennon.spark.scan(spark, numbers)
    first = pennon.spark.scan(spark, numbers, version=1)
    pennon.write_dataset({"id": [1], "name": ["x"]}, numbers, mode="append")
    assert latest.count() == 950
    assert first.count() == 1000


def test_an_empty_dataset_has_its_schema(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.uint32()), ("at", pa.timestamp("ns", "UTC"))])
    pennon.write_dataset(schema.empty_table(), tmp_path / "empty")
    df = pennon.spark.scan(spark, str(tmp_path / "empty"))
    assert df.dtypes == [("id", "bigint"), ("at", "timestamp")]
    assert df.collect() == []


def test_mistakes_fail_on_the_driver(spark: SparkSession, numbers: str) -> None:
    with pytest.raises(pennon.LanceError, match="nope"):
        pennon.spark.scan(spark, numbers, filter="nope = 1")
    with pytest.raises(pennon.LanceError, match="nope"):
        pennon.spark.scan(spark, numbers, columns=["nope"])
    with pytest.raises(pennon.LanceError):
        pennon.spark.scan(spark, numbers, version=99)
    with pytest.raises(ValueError, match="partitions"):
        pennon.spark.scan(spark, numbers, partitions=0)


def test_a_damaged_file_is_named_by_a_typed_error(spark: SparkSession, numbers: str) -> None:
    (damaged,) = pennon.dataset(numbers).get_fragments()[0].data_files()
    path = Path(numbers, "data", damaged.path)
    path.write_bytes(path.read_bytes()[:-40])
    df = pennon.spark.scan(spark, numbers)
    with pytest.raises(Exception, match="CorruptFileError"):
        df.collect()
    with (
        pytest.raises(pennon.exceptions.CorruptFileError, match=damaged.path) as caught,
        pennon.spark.typed_errors(),
    ):
        df.collect()
    assert caught.value.uri is not None
    assert damaged.path in caught.value.uri


def test_a_split_is_small_and_picklable(numbers: str) -> None:
    split = Split(numbers, 2, tuple(range(10)), ("id",), "id > 990")
    assert len(pickle.dumps(split)) < 1000
    batches = pickle.loads(pickle.dumps(split)).batches()
    assert [i for batch in batches for i in batch["id"].to_pylist()] == list(range(991, 1000))


@pytest.mark.parametrize(
    ("rows", "groups", "expected"),
    [
        ([10, 10, 10, 10], 2, [(0, 1), (2, 3)]),
        ([100, 1, 1, 1], 2, [(0,), (1, 2, 3)]),
        ([1, 1], 8, [(0,), (1,)]),
        ([0, 0, 0], 2, [(0, 1, 2)]),
        ([5] * 9, 1, [tuple(range(9))]),
    ],
)
def test_fragments_are_balanced_by_rows(
    rows: list[int], groups: int, expected: list[tuple[int, ...]]
) -> None:
    assert balance(list(enumerate(rows)), groups) == expected
