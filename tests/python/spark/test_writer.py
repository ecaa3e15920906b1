"""Writing Lance datasets with Spark."""

import json
import subprocess
import sys
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
from pennon.exceptions import (
    DatasetAlreadyExistsError,
    InvalidInputError,
    SchemaMismatchError,
)
from pennon.fragment import write_fragments
from pennon.spark import writer
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
    with pytest.raises(SchemaMismatchError, match=r"missing \['b'\], unknown \['c'\]"):
        pennon.spark.write(other_names, uri, mode="append")
    with pytest.raises(SchemaMismatchError, match=r"column 'b' is map.* int64 in the dataset"):
        pennon.spark.write(other_types, uri, mode="append")
    assert pennon.dataset(uri).version == 1


def test_create_refuses_an_existing_dataset(spark: SparkSession, tmp_path: Path) -> None:
    uri = str(tmp_path / "create")
    pennon.spark.write(spark.range(3), uri)
    with pytest.raises(DatasetAlreadyExistsError, match="version 1"):
        pennon.spark.write(spark.range(3), uri)


def test_create_refuses_a_dataset_that_was_made_meanwhile(
    spark: SparkSession, tmp_path: Path
) -> None:
    uri = str(tmp_path / "race")

    def makes_it_first(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pennon.write_dataset(pa.table({"id": [7]}), uri)
        yield from batches

    df = spark.range(0, 3, 1, 1).mapInArrow(makes_it_first, "id long")
    with pytest.raises(DatasetAlreadyExistsError):
        pennon.spark.write(df, uri)
    assert pennon.dataset(uri).version == 1
    assert pennon.dataset(uri).to_table()["id"].to_pylist() == [7]


def test_appends_and_other_commits_may_overlap(spark: SparkSession, tmp_path: Path) -> None:
    uri = str(tmp_path / "overlap")
    pennon.write_dataset(pa.table({"id": [0]}), uri)

    def appends_too(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pennon.write_dataset(pa.table({"id": [-1]}), uri, mode="append")
        yield from batches

    df = spark.range(1, 4, 1, 2).mapInArrow(appends_too, "id long")
    dataset = pennon.spark.write(df, uri, mode="append")
    assert dataset.version == 4
    assert sorted(dataset.to_table()["id"].to_pylist()) == [-1, -1, 0, 1, 2, 3]


@pytest.mark.parametrize("mode", ["create", "overwrite"])
def test_the_file_version_can_be_chosen(
    spark: SparkSession, tmp_path: Path, mode: WriteMode
) -> None:
    uri = str(tmp_path / "version")
    dataset = pennon.spark.write(spark.range(5), uri, mode=mode, data_storage_version="2.1")
    (file,) = dataset.get_fragments()[0].data_files()
    assert (file.file_major_version, file.file_minor_version) == (2, 1)
    assert dataset.data_storage_version == "2.1"


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


def test_partitions_without_rows_leave_no_fragment(spark: SparkSession, tmp_path: Path) -> None:
    df = spark.range(0, 80, 1, 8).where("id < 5 or id >= 75")
    dataset = pennon.spark.write(df, str(tmp_path / "gaps"))
    assert [part.count_rows() for part in dataset.get_fragments()] == [5, 5]


def test_a_large_partition_becomes_several_fragments(spark: SparkSession, tmp_path: Path) -> None:
    df = spark.range(0, 1000, 1, 1)
    dataset = pennon.spark.write(df, str(tmp_path / "files"), max_rows_per_file=300)
    assert [part.count_rows() for part in dataset.get_fragments()] == [300, 300, 300, 100]


def test_tasks_that_fail_on_their_way_are_retried(spark: SparkSession, tmp_path: Path) -> None:

    def fails_twice(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pass rows on, but let the first two attempts of one partition fail at their end."""
        yield from batches
        context = TaskContext.get()
        assert context is not None
        if context.partitionId() == 1 and context.attemptNumber() < 2:
            raise RuntimeError("this attempt is meant to fail")

    uri = str(tmp_path / "retried")
    df = spark.range(0, 4000, 1, 4).mapInArrow(fails_twice, "id long")
    dataset = pennon.spark.write(df, uri, max_rows_per_file=100)
    assert_exactly(dataset, 4000)
    assert dataset.version == 1


def test_tasks_that_fail_after_writing_never_duplicate_rows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = writer._report

    def fails_once(fragments: list[pennon.FragmentMetadata]) -> pa.RecordBatch:
        """Report what was written, but lose every first attempt when its files are complete."""
        context = TaskContext.get()
        assert context is not None
        if context.attemptNumber() == 0:
            raise RuntimeError("this attempt is meant to fail")
        return report(fragments)

    monkeypatch.setattr(writer, "_report", fails_once)
    uri = tmp_path / "lost"
    dataset = pennon.spark.write(spark.range(0, 4000, 1, 4), uri, max_rows_per_file=500)
    assert_exactly(dataset, 4000)
    assert (dataset.version, len(dataset.get_fragments())) == (1, 8)
    assert len(list((uri / "data").iterdir())) == 16


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs several loopback addresses")
def test_speculative_tasks_never_duplicate_rows(tmp_path: Path) -> None:
    """Speculation needs several hosts, and so a cluster of its own."""
    uri = tmp_path / "speculative"
    program = Path(__file__).with_name("speculation.py")
    run = subprocess.run(
        [sys.executable, program, uri], capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stderr
    dataset = pennon.dataset(uri)
    assert_exactly(dataset, 1000)
    assert len(committed_files(dataset)) == 20
    assert len(list((uri / "data").iterdir())) == 25, "no task ran twice"


def test_a_failing_job_commits_nothing(spark: SparkSession, tmp_path: Path) -> None:
    uri = str(tmp_path / "failed")
    pennon.write_dataset(pa.table({"id": pa.array([0], pa.int8())}), uri)
    too_large = spark.range(0, 1000, 1, 2)
    with pytest.raises(InvalidInputError, match="column 'id': int64 does not fit int8") as caught:
        pennon.spark.write(too_large, uri, mode="append")
    assert caught.value.column == "id"
    assert "Traceback" in str(caught.value.__cause__)
    assert pennon.dataset(uri).version == 1


def test_an_error_amid_a_task_keeps_its_class(spark: SparkSession, tmp_path: Path) -> None:
    uri = str(tmp_path / "amid")
    pennon.write_dataset(pa.table({"id": pa.array([0], pa.int16())}), uri)
    too_large_late = spark.range(0, 40_000, 1, 1)
    with pytest.raises(InvalidInputError, match="column 'id': int64 does not fit int16"):
        pennon.spark.write(too_large_late, uri, mode="append")


def test_nulls_are_refused_where_the_dataset_has_none(spark: SparkSession, tmp_path: Path) -> None:
    uri = str(tmp_path / "nulls")
    pennon.spark.write(spark.range(10), uri)
    with pytest.raises(pennon.LanceError, match="id"):
        pennon.spark.write(spark.sql("select cast(null as bigint) as id"), uri, mode="append")
    assert pennon.dataset(uri).count_rows() == 10


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


def assert_exactly(dataset: pennon.LanceDataset, rows: int) -> None:
    """Fail unless the dataset holds the numbers below `rows`, each once."""
    assert sorted(dataset.to_table()["id"].to_pylist()) == list(range(rows))


def committed_files(dataset: pennon.LanceDataset) -> set[str]:
    """The names of the data files that the version refers to."""
    return {file.path for part in dataset.get_fragments() for file in part.data_files()}


def test_a_type_that_cannot_be_stored_is_named() -> None:
    schema = StructType().add("when", "interval year to month")
    with pytest.raises(TypeError, match="column 'when' of type interval year to month"):
        arrow_schema(schema)
