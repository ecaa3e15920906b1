"""Writing: tasks write fragments, the driver makes one commit of what the job collected.

A task attempt writes files under names of its own and reports them as rows. Spark delivers the
rows of exactly one successful attempt of each partition, and only reported fragments are
committed: the files of failed, retried or speculative attempts are never part of a version. They
stay behind as unreferenced files until a clean-up removes them.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from typing import Any, Literal, get_args

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, Row

import pennon
from pennon.exceptions import (
    DatasetAlreadyExistsError,
    DatasetNotFoundError,
    InputDataError,
    InvalidInputError,
    SchemaMismatchError,
)
from pennon.fragment import FragmentMetadata, write_fragments
from pennon.spark.address import everywhere
from pennon.spark.errors import carried, typed_errors
from pennon.spark.types import arrow_schema, cast_batch, fits

WriteMode = Literal["create", "append", "overwrite"]
"""What `write` does about an existing dataset."""

_REPORT = pa.schema(
    [
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("attempt", pa.int64(), nullable=False),
        pa.field("fragment", pa.string(), nullable=False),
    ]
)
_REPORT_DDL = "partition int, attempt bigint, fragment string"


@dataclass(frozen=True)
class PartitionWriter:
    """What one task needs to write its rows; None stands for the default of the core."""

    uri: str
    schema: pa.Schema
    mode: WriteMode
    max_rows_per_file: int | None = None
    max_bytes_per_file: int | None = None
    data_storage_version: str | None = None

    def options(self) -> dict[str, Any]:
        """The options that were given, as keywords of the core's functions."""
        given = {
            "max_rows_per_file": self.max_rows_per_file,
            "max_bytes_per_file": self.max_bytes_per_file,
            "data_storage_version": self.data_storage_version,
        }
        return {name: value for name, value in given.items() if value is not None}

    def write(self, batches: Iterable[pa.RecordBatch]) -> list[FragmentMetadata]:
        """Write fragments that no version refers to yet; none when there are no rows."""
        source = _Source(cast_batch(batch, self.schema) for batch in batches if batch.num_rows)
        first = next(source, None)
        if first is None:
            return []
        stream = pa.RecordBatchReader.from_batches(self.schema, chain([first], source))
        try:
            return write_fragments(stream, self.uri, mode=self.mode, **self.options())
        except InputDataError as error:
            raise source.failure or error from None

    def write_nothing(self) -> pennon.LanceDataset:
        """Make a version without rows."""
        empty = self.schema.empty_table()
        return pennon.write_dataset(empty, self.uri, mode=self.mode, **self.options())


class _Source(Iterator[pa.RecordBatch]):
    """Batches for the core, which learns only the text of an error: this keeps the error itself."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self.failure: Exception | None = None

    def __next__(self) -> pa.RecordBatch:
        try:
            return next(self._batches)
        except StopIteration:
            raise
        except Exception as error:
            self.failure = error
            raise


def write(
    df: DataFrame,
    uri: str | PathLike[str],
    *,
    mode: WriteMode = "create",
    max_rows_per_file: int | None = None,
    max_bytes_per_file: int | None = None,
    data_storage_version: str | None = None,
) -> pennon.LanceDataset:
    """Write a DataFrame as one new version of a Lance dataset.

    Every non-empty partition becomes one fragment, or several when it holds more than
    `max_rows_per_file` rows; repartition the DataFrame to choose. All of them appear in one
    commit, or none does. An append matches columns by name.

    Parameters
    ----------
    df
        The rows.
    uri
        Where the dataset is; every executor must reach it under the same name.
    mode
        ``"create"`` makes a new dataset and fails when there is one, ``"append"`` adds rows under
        the same columns, ``"overwrite"`` replaces rows and schema in a new version. The last two
        make the dataset when there is none.
    max_rows_per_file, max_bytes_per_file
        When a partition begins its next fragment.
    data_storage_version
        The file version of a new dataset: ``"2.1"`` or ``"2.2"``.

    Returns
    -------
    LanceDataset
        The dataset at the version that was committed. Appending no rows commits nothing.

    Raises
    ------
    TypeError
        A column has a type without an Arrow form; the message names the column.
    DatasetAlreadyExistsError
        The mode is ``"create"`` and there is a dataset.
    SchemaMismatchError
        The columns of an append are not those of the dataset.
    pennon.LanceError
        What failed in a task, as the class that it was there.
    CommitConflictError, IncompatibleTransactionError
        A concurrent commit is in the way.

    Examples
    --------
    >>> write(flights.repartition(8), "/data/flights")  # doctest: +SKIP
    >>> write(more_flights, "/data/flights", mode="append")  # doctest: +SKIP
    """
    if mode not in get_args(WriteMode):
        raise InvalidInputError(
            f"mode must be one of {', '.join(get_args(WriteMode))}, not {mode!r}"
        )
    uri = everywhere(uri)
    target = _existing(uri, mode)
    schema = arrow_schema(df.schema)
    if target is not None and mode == "append":
        df, schema = _align(df, schema, target.schema)
    writer = PartitionWriter(
        uri,
        schema,
        "create" if target is None else mode,
        max_rows_per_file,
        max_bytes_per_file,
        data_storage_version,
    )
    fragments = _write_partitions(df, writer)
    if fragments:
        return _commit(writer, fragments, target)
    return target if target is not None and mode == "append" else writer.write_nothing()


def one_attempt_each(reports: Iterable[Row]) -> list[FragmentMetadata]:
    """The fragments of one attempt of every partition, in partition order.

    Spark hands the driver one successful attempt per partition; should two ever arrive, the
    earlier one wins as a whole, because each of them holds all rows of the partition.
    """
    attempts: defaultdict[int, dict[int, list[str]]] = defaultdict(dict)
    for report in reports:
        attempts[report.partition].setdefault(report.attempt, []).append(report.fragment)
    chosen = (attempts[partition] for partition in sorted(attempts))
    return [FragmentMetadata.from_json(fragment) for each in chosen for fragment in each[min(each)]]


def _existing(uri: str, mode: WriteMode) -> pennon.LanceDataset | None:
    """The dataset as it is now, or None; refuses to create a second one before any work."""
    try:
        found = pennon.dataset(uri)
    except DatasetNotFoundError:
        return None
    if mode == "create":
        raise DatasetAlreadyExistsError(
            f"{uri} holds a dataset at version {found.version}: "
            'write with mode="append" or mode="overwrite"',
            uri=uri,
            version=found.version,
        )
    return found


def _align(df: DataFrame, schema: pa.Schema, wanted: pa.Schema) -> tuple[DataFrame, pa.Schema]:
    """The DataFrame's columns in the dataset's order, to be cast to the dataset's types."""
    missing = sorted(set(wanted.names) - set(schema.names))
    extra = sorted(set(schema.names) - set(wanted.names))
    if missing or extra or len(schema.names) != len(wanted.names):
        raise SchemaMismatchError(
            "the DataFrame's columns are not the dataset's: "
            f"missing {missing}, unknown {extra}, of {wanted.names}"
        )
    ordered = df.select([f"`{name.replace('`', '``')}`" for name in wanted.names])
    found = arrow_schema(ordered.schema)
    for field in wanted:
        if not fits(found.field(field.name).type, field.type):
            raise SchemaMismatchError(
                f"column {field.name!r} is {found.field(field.name).type} in the DataFrame "
                f"and {field.type} in the dataset",
                column=field.name,
            )
    return ordered, wanted


def _write_partitions(df: DataFrame, writer: PartitionWriter) -> list[FragmentMetadata]:
    """Run the job: each partition writes its fragments and reports them as rows."""

    def write_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carried():
            yield _report(writer.write(batches))

    with typed_errors():
        return one_attempt_each(df.mapInArrow(write_partition, _REPORT_DDL).collect())


def _report(fragments: Iterable[FragmentMetadata]) -> pa.RecordBatch:
    context = TaskContext.get()
    if context is None:
        raise RuntimeError("fragments are written inside a Spark task")
    rows = [
        {
            "partition": context.partitionId(),
            "attempt": context.taskAttemptId(),
            "fragment": json.dumps(fragment.to_json()),
        }
        for fragment in fragments
    ]
    return pa.RecordBatch.from_pylist(rows, schema=_REPORT)


def _commit(
    writer: PartitionWriter,
    fragments: list[FragmentMetadata],
    target: pennon.LanceDataset | None,
) -> pennon.LanceDataset:
    """One commit on top of the version that the job began with; none is version 0.

    A dataset that was made since then, where there was none, makes the commit fail.
    """
    operation: pennon.LanceOperation.BaseOperation
    if writer.mode == "append":
        operation = pennon.LanceOperation.Append(fragments)
    else:
        operation = pennon.LanceOperation.Overwrite(writer.schema, fragments)
    read_version = 0 if target is None else target.version
    return pennon.LanceDataset.commit(writer.uri, operation, read_version=read_version)
