"""Reading: the driver pins a version and cuts it into splits, each task scans one split."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import pennon
from pennon.exceptions import InvalidInputError
from pennon.spark.address import everywhere
from pennon.spark.errors import carried
from pennon.spark.types import cast_batch, readable_schema, spark_schema

ROWS_PER_TASK = 1 << 20
"""Rows of a task once there are more tasks than `spark.sql.shuffle.partitions`."""

MIN_ROWS_PER_TASK = 1 << 16
"""Neighbouring fragments smaller than this share a task."""


@dataclass(frozen=True)
class Split:
    """What one task reads: everything it needs to find its rows, and no open handle."""

    uri: str
    version: int
    fragment_ids: tuple[int, ...]
    columns: tuple[str, ...] | None
    filter: str | None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Scan the split's fragments in their order."""
        dataset = pennon.dataset(self.uri, version=self.version)
        wanted = frozenset(self.fragment_ids)
        scanner = dataset.scanner(
            columns=None if self.columns is None else list(self.columns),
            filter=self.filter,
            fragments=[part for part in dataset.get_fragments() if part.fragment_id in wanted],
        )
        yield from scanner.to_batches()


def scan(
    spark: SparkSession,
    uri: str | PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    filter: str | None = None,
    version: int | None = None,
    partitions: int | None = None,
) -> DataFrame:
    """Read a Lance dataset as a DataFrame.

    The version is resolved once, on the driver: every task, every retry and every later action on
    the DataFrame sees the same rows, whatever is committed meanwhile. `columns` and `filter` are
    evaluated inside the scan, so that unwanted columns and rows never reach Spark. Spark does not
    push its own `select` and `where` into the scan: name them here.

    Rows keep the order of the dataset from partition to partition.

    Parameters
    ----------
    spark
        The session, classic or Connect.
    uri
        Where the dataset is; every executor must reach it under the same name.
    columns
        The columns to read, in this order; all of them by default.
    filter
        An SQL predicate over any columns of the dataset, e.g. ``"origin = 'JFK'"``.
    version
        The version to read; the latest by default.
    partitions
        The number of tasks, at most one per fragment. By default neighbouring small fragments
        share a task.

    Returns
    -------
    DataFrame
        A lazy DataFrame of the version.

    Raises
    ------
    TypeError
        A column has a type that Spark cannot hold; the message names the column.
    pennon.LanceError
        The dataset, the version or a column does not exist, or the predicate is wrong.

    Examples
    --------
    >>> delays = scan(spark, "/data/flights", columns=["carrier", "dep_delay"])  # doctest: +SKIP
    >>> delays.groupBy("carrier").avg("dep_delay").show()  # doctest: +SKIP
    """
    if columns is not None and not columns:
        raise InvalidInputError("columns=[] selects nothing; count rows with dataset.count_rows()")
    if partitions is not None and partitions < 1:
        raise InvalidInputError(f"partitions must be at least 1, not {partitions}")
    uri = everywhere(uri)
    dataset = pennon.dataset(uri, version=version)
    chosen = None if columns is None else tuple(columns)
    schema = readable_schema(_projected_schema(dataset, chosen, filter))
    fragments = [(part.fragment_id, part.metadata.num_rows) for part in dataset.get_fragments()]
    if not fragments:
        return spark.createDataFrame([], spark_schema(schema))
    count = partitions or _task_count(spark, fragments)
    splits = [
        Split(uri, dataset.version, group, chosen, filter) for group in balance(fragments, count)
    ]
    return _run(spark, splits, schema)


def balance(fragments: Sequence[tuple[int, int]], groups: int) -> list[tuple[int, ...]]:
    """Cut (fragment id, rows) pairs into at most `groups` runs of about equal rows.

    Examples
    --------
    >>> balance([(0, 10), (1, 10), (2, 20), (3, 1)], 2)
    [(0, 1), (2, 3)]
    """
    groups = min(groups, len(fragments))
    total = sum(rows for _, rows in fragments)
    cut: list[list[int]] = [[] for _ in range(groups)]
    before = 0
    for fragment_id, rows in fragments:
        middle = before + rows / 2
        group = int(middle * groups / total) if total else 0
        cut[min(group, groups - 1)].append(fragment_id)
        before += rows
    return [tuple(ids) for ids in cut if ids]


def _projected_schema(
    dataset: pennon.LanceDataset,
    columns: tuple[str, ...] | None,
    predicate: str | None,
) -> pa.Schema:
    """The scan's result schema; a wrong column or predicate fails here, on the driver."""
    scanner = dataset.scanner(
        columns=None if columns is None else list(columns), filter=predicate, limit=0
    )
    return scanner.to_table().schema


def _task_count(spark: SparkSession, fragments: Sequence[tuple[int, int]]) -> int:
    rows = sum(count for _, count in fragments)
    cluster = int(spark.conf.get("spark.sql.shuffle.partitions", "200") or "200")
    most = max(cluster, -(-rows // ROWS_PER_TASK))
    return max(1, min(most, -(-rows // MIN_ROWS_PER_TASK)))


def _run(spark: SparkSession, splits: Sequence[Split], schema: pa.Schema) -> DataFrame:
    """One Spark partition per split: `range` gives each exactly one number."""

    def read(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carried():
            for batch in numbers:
                for number in batch.column(0).to_pylist():
                    for found in splits[number].batches():
                        yield cast_batch(found, schema)

    numbers = spark.range(0, len(splits), 1, len(splits))
    return numbers.mapInArrow(read, spark_schema(schema))
