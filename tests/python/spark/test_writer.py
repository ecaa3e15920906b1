"""Writing Lance datasets with Spark."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from comparison import assert_same
from pyspark import TaskContext
from pyspark.sql import Row, SparkSession
from pyspark.sql.types import StructType

import pennon
import pennon.spark
from pennon.fragment import write_fragments
from pennon.spark.types import arrow_schema
from pennon.spark.writer import WriteMode, one_attempt_each

pytestmark = pytest.mark.spark

COLUMNS = [
    "id",
    "cast(id as string) as text",
    "cast(id as decimal(20, 2)) as money",
    "timestamp '2020-01-01 00:00:00' + make_dt_interval(0, id) as moment",
    "array(id, null) as list",
    "named_struct('x', id, 'y', if(id % 2 = 0, 'even', null)) as pair",
    "map('k', id) as mapping",
    "if(id % 3 = 0, null, cast(id as double)) as ratio",
]


def test_every_value_comes_back(spark: SparkSession, tmp_path: Path) -> None:
    uri = str(tmp_path / "rows")
    df = spark.range(2000).selectExpr(*COLUMNS)
    dataset = pennon.spark.write(df.repartition(3), uri)
    assert (dataset.version, len(dataset.get_fragments())) == (1, 3)
    found = pennon.spark.scan(spark, uri).orderBy("id")
    assert_same(found.toArrow(), df.orderBy("id").toArrow())
    assert found.schema == df.schema


def test_append_matches_columns_by_name_and_casts(spark: SparkSession, tmp_path: Path) -> None:
    uri = str(tmp_path / "append")
    table = pa.table({"a": pa.array([1], pa.int16()), "b": pa.array(["x"], pa.large_string())})
    pennon.write_dataset(table, uri)
    df = spark.createDataFrame([("y", 2)], "b string, a long")
    assert pennon.spark.write(df, uri, mode="append").version == 2
    expected = pa.table(
        {"a": pa.array([1, 2], pa.int16()), "b": pa.array(["x", "y"], pa.large_string())}
    )
    assert_same(pennon.dataset(uri).to_table(), expected)


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_missing_dataset_is_made(spark: SparkSession, tmp_path: Path, mode: WriteMode) -> None:
    dataset = pennon.spark.write(spark.range(5), tmp_path / "new", mode=mode)
    assert (dataset.version, dataset.count_rows()) == (1, 5)


def test_append_refuses_other_columns(spark: SparkSession, tmp_path: Path) -> None:
    uri = str(tmp_path / "refuse")
    pennon.write_dataset(pa.table({"a": [1], "b": [1]}), uri)
    other_names = spark.range(1).selectExpr("id as a", "id as c")
    other_types = spark.range(1).selectExpr("id as a", "map('k', id) as b")
    with pytest.raises(ValueError, match=r"missing \['b'\], unknown \['c'\]"):
        pennon.spark.write(other_names, uri, mode="append")
    with pytest.raises(ValueError, match=r"column 'b' is map.* int64 in the dataset"):
        pennon.spark.write(other_types, uri, mode="append")
    assert pennon.dataset(uri).version == 1


def test_create_refuses_an_existing_dataset(spark: SparkSession, tmp_path: Path) -> None:
    uri = str(tmp_path / "create")
    pennon.spark.write(spark.range(3), uri)
    with pytest.raises(pennon.exceptions.DatasetAlreadyExistsError, match="version 1"):
        pennon.spark.write(spark.range(3), uri)


def test_overwrite_may_read_what_it_replaces(spark: SparkSession, tmp_path: Path) -> None:
    uri = str(tmp_path / "overwrite")
    pennon.spark.write(spark.range(10), uri)
    doubled = pennon.spark.scan(spark, uri).selectExpr("cast(id * 2 as string) as twice")
    dataset = pennon.spark.write(doubled, uri, mode="overwrite")
    assert dataset.version == 2
    assert sorted(dataset.to_table()["twice"].to_pylist(), key=int) == [
        str(i) for i in range(0, 20, 2)
    ]
    assert pennon.dataset(uri, version=1).count_rows() == 10


def test_writing_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    uri = str(tmp_path / "nothing")
    none = spark.range(5).where("id < 0")
    assert pennon.spark.write(none, uri).schema.names == ["id"]
    assert pennon.spark.write(none, uri, mode="append").version == 1
    assert pennon.spark.write(none, uri, mode="overwrite").version == 2


def test_a_large_partition_becomes_several_fragments(spark: SparkSession, tmp_path: Path) -> None:
    df = spark.range(0, 1000, 1, 1)
    dataset = pennon.spark.write(df, str(tmp_path / "files"), max_rows_per_file=300)
    assert [part.count_rows() for part in dataset.get_fragments()] == [300, 300, 300, 100]


def test_retried_tasks_never_duplicate_rows(spark: SparkSession, tmp_path: Path) -> None:

    def fails_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pass rows on, but let the first two attempts of one partition fail at their end."""
        yield from batches
        context = TaskContext.get()
        assert context is not None
        if context.partitionId() == 1 and context.attemptNumber() < 2:
            raise RuntimeError("this attempt is meant to fail")

    uri = str(tmp_path / "retried")
    df = spark.range(0, 4000, 1, 4).mapInArrow(fails_once, "id long")
    dataset = pennon.spark.write(df, uri, max_rows_per_file=100)
    assert sorted(dataset.to_table()["id"].to_pylist()) == list(range(4000))
    assert dataset.version == 1
    committed = {file.path for part in dataset.get_fragments() for file in part.data_files()}
    assert committed <= {file.name for file in (tmp_path / "retried" / "data").iterdir()}


def test_a_failing_job_commits_nothing(spark: SparkSession, tmp_path: Path) -> None:
    uri = str(tmp_path / "failed")
    pennon.write_dataset(pa.table({"id": pa.array([0], pa.int8())}), uri)
    too_large = spark.range(0, 1000, 1, 2)
    with pytest.raises(Exception, match="column 'id'"):
        pennon.spark.write(too_large, uri, mode="append")
    assert pennon.dataset(uri).version == 1


def test_only_one_attempt_of_a_partition_counts(tmp_path: Path) -> None:
    parts = write_fragments(
        pa.table({"id": range(50)}), str(tmp_path), mode="create", max_rows_per_file=10
    )
    texts = [json.dumps(part.to_json()) for part in parts]
    reports = [
        Row(partition=1, attempt=9, fragment=texts[0]),
        Row(partition=0, attempt=7, fragment=texts[1]),
        Row(partition=0, attempt=7, fragment=texts[2]),
        Row(partition=0, attempt=8, fragment=texts[3]),
        Row(partition=0, attempt=8, fragment=texts[4]),
    ]
    chosen = [part.files[0].path for part in one_attempt_each(reports)]
    assert chosen == [parts[number].files[0].path for number in (1, 2, 0)]


def test_a_type_that_cannot_be_stored_is_named() -> None:
    schema = StructType().add("when", "interval year to month")
    with pytest.raises(TypeError, match="column 'when' of type interval year to month"):
        arrow_schema(schema)
