"""Writing: modes, and everything that data can come as."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from libraries import both_libraries
from pyarrow import dataset as arrow_dataset

import pennon
from pennon.exceptions import (
    DatasetAlreadyExistsError,
    InputDataError,
    InvalidInputError,
    SchemaMismatchError,
)

TABLE = pa.table({"id": [1, 2, 3], "name": ["a", None, "c"]})


@both_libraries
def test_create_makes_the_first_version(library: Any, uri: str) -> None:
    dataset = library.write_dataset(TABLE, uri)
    assert (dataset.version, dataset.uri) == (1, uri)
    assert dataset.to_table().equals(TABLE)


@both_libraries
def test_create_leaves_an_existing_dataset_alone(library: Any, uri: str) -> None:
    library.write_dataset(TABLE, uri)
    with pytest.raises(OSError, match=r"exists already|already exists"):
        library.write_dataset(TABLE, uri)
    assert library.dataset(uri).latest_version == 1


@both_libraries
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_append_and_overwrite_create_what_is_missing(library: Any, uri: str, mode: str) -> None:
    dataset = library.write_dataset(TABLE, uri, mode=mode)
    assert (dataset.version, dataset.count_rows()) == (1, 3)


@both_libraries
def test_append_adds_rows_at_the_end(library: Any, uri: str) -> None:
    library.write_dataset(TABLE, uri)
    more = pa.table({"id": [4], "name": ["d"]})
    appended = library.write_dataset(more, uri, mode="append")
    assert appended.to_table().equals(pa.concat_tables([TABLE, more]).combine_chunks())


@both_libraries
def test_append_fills_nullable_columns_that_are_missing(library: Any, uri: str) -> None:
    library.write_dataset(TABLE, uri)
    appended = library.write_dataset(pa.table({"id": [4]}), uri, mode="append")
    assert appended.to_table()["name"].to_pylist() == ["a", None, "c", None]


@both_libraries
def test_append_finds_columns_by_name(library: Any, uri: str) -> None:
    library.write_dataset(TABLE, uri)
    turned = TABLE.select(["name", "id"])
    appended = library.write_dataset(turned, uri, mode="append")
    assert appended.to_table().slice(3).to_pylist() == TABLE.to_pylist()


@both_libraries
def test_append_refuses_other_columns(library: Any, uri: str) -> None:
    library.write_dataset(TABLE, uri)
    wider = TABLE.append_column("extra", [[1, 2, 3]])
    with pytest.raises(OSError, match="extra"):
        library.write_dataset(wider, uri, mode="append")
    with pytest.raises(OSError, match="id"):
        library.write_dataset(pa.table({"id": ["x"], "name": ["y"]}), uri, mode="append")
    assert library.dataset(uri).latest_version == 1


@both_libraries
def test_overwrite_replaces_rows_and_schema(library: Any, uri: str) -> None:
    library.write_dataset(TABLE, uri)
    other = pa.table({"x": [0.5]})
    dataset = library.write_dataset(other, uri, mode="overwrite")
    assert dataset.version == 2
    assert dataset.to_table().equals(other)


@both_libraries
def test_max_rows_per_file_bounds_a_fragment(library: Any, uri: str) -> None:
    table = pa.table({"id": range(10)})
    dataset = library.write_dataset(table, uri, max_rows_per_file=4)
    assert [part.count_rows() for part in dataset.get_fragments()] == [4, 4, 2]
    assert dataset.to_table().equals(table)


@both_libraries
@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_the_file_version_can_be_chosen_and_stays(library: Any, uri: str, version: str) -> None:
    library.write_dataset(TABLE, uri, data_storage_version=version)
    appended = library.write_dataset(TABLE, uri, mode="append")
    assert appended.data_storage_version == version
    files = [file for part in appended.get_fragments() for file in part.data_files()]
    assert {f"{file.file_major_version}.{file.file_minor_version}" for file in files} == {version}


@both_libraries
def test_a_table_without_rows_is_a_dataset_without_fragments(library: Any, uri: str) -> None:
    dataset = library.write_dataset(TABLE.schema.empty_table(), uri)
    assert (dataset.count_rows(), dataset.get_fragments()) == (0, [])
    assert dataset.to_table().equals(TABLE.schema.empty_table())


@both_libraries
def test_a_dataset_can_be_written_to_through_its_handle(library: Any, uri: str) -> None:
    dataset = library.write_dataset(TABLE, uri)
    assert library.write_dataset(TABLE, dataset, mode="append").count_rows() == 6


def batches() -> Iterator[pa.RecordBatch]:
    """The table, row by row."""
    yield from TABLE.to_batches(max_chunksize=1)


class Rows:
    """An object of no known class that has the Arrow stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return TABLE.__arrow_c_stream__(requested_schema)


INPUTS: dict[str, Callable[[], Any]] = {
    "table": lambda: TABLE,
    "chunked table": lambda: pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1)]),
    "batch": lambda: TABLE.to_batches()[0],
    "reader": TABLE.to_reader,
    "arrow dataset": lambda: arrow_dataset.dataset(TABLE),
    "arrow scanner": lambda: arrow_dataset.dataset(TABLE).scanner(),
    "dict of columns": TABLE.to_pydict,
    "list of dicts": TABLE.to_pylist,
}


@both_libraries
@pytest.mark.parametrize("source", INPUTS)
def test_data_may_come_as(library: Any, source: str, uri: str) -> None:
    assert library.write_dataset(INPUTS[source](), uri).to_table().equals(TABLE)


@both_libraries
def test_data_may_come_as_a_generator_with_a_schema(library: Any, uri: str) -> None:
    assert library.write_dataset(batches(), uri, schema=TABLE.schema).to_table().equals(TABLE)


@pytest.mark.parametrize("source", [batches, Rows, TABLE.to_batches, lambda: iter([TABLE])])
def test_data_may_come_as_anything_that_speaks_arrow(source: Callable[[], Any], uri: str) -> None:
    assert pennon.write_dataset(source(), uri).to_table().equals(TABLE)


def test_data_may_come_from_another_dataset(uri: str) -> None:
    first = pennon.write_dataset(TABLE, uri)
    second = pennon.write_dataset(first, f"{uri}-2")
    third = pennon.write_dataset(second.scanner(filter="id > 1"), f"{uri}-3")
    assert third.to_table().equals(TABLE.slice(1))


def test_data_may_come_as_a_polars_frame(uri: str) -> None:
    frame = pl.DataFrame({"id": [1, 2], "name": ["a", None]})
    dataset = pennon.write_dataset(frame, uri)
    assert pl.DataFrame(dataset).equals(frame)


@both_libraries
def test_data_may_come_as_a_pandas_frame(library: Any, uri: str) -> None:
    frame = pd.DataFrame({"id": [1, 2], "name": ["a", None]})
    dataset = library.write_dataset(frame, uri)
    assert dataset.to_table().equals(pa.Table.from_pandas(frame))


@pytest.mark.parametrize("source", ["table", "batch", "reader", "arrow scanner"])
def test_data_is_stored_under_the_schema_asked_for(source: str, uri: str) -> None:
    schema = pa.schema([("id", pa.int16()), ("name", pa.large_string())])
    dataset = pennon.write_dataset(INPUTS[source](), uri, schema=schema)
    assert dataset.to_table().equals(TABLE.cast(schema))


def test_a_cast_never_loses_values(uri: str) -> None:
    with pytest.raises(ValueError, match="300"):
        pennon.write_dataset(pa.table({"id": [300]}), uri, schema=pa.schema([("id", pa.int8())]))


def test_an_iterable_without_batches_needs_a_schema(uri: str) -> None:
    with pytest.raises(InvalidInputError, match="schema="):
        pennon.write_dataset([], uri)
    assert pennon.write_dataset([], uri, schema=TABLE.schema).count_rows() == 0


@both_libraries
def test_other_objects_are_refused(library: Any, uri: str) -> None:
    with pytest.raises(TypeError, match="int"):
        library.write_dataset(5, uri)


def test_a_stream_can_be_written_once(uri: str) -> None:
    reader = TABLE.to_reader()
    pennon.write_dataset(reader, uri)
    assert pennon.write_dataset(reader, uri, mode="append").count_rows() == 3


def test_a_source_that_fails_leaves_nothing_behind(uri: str) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield from batches()
        raise RuntimeError("the source broke")

    dataset = pennon.write_dataset(TABLE, uri)
    files = sorted(Path(uri).rglob("*"))
    with pytest.raises(InputDataError, match="the source broke") as caught:
        pennon.write_dataset(failing(), uri, schema=TABLE.schema, mode="append")
    assert repr(caught.value.__cause__) == "RuntimeError('the source broke')"
    assert dataset.latest_version == 1
    assert sorted(Path(uri).rglob("*")) == files


def test_an_unknown_mode_is_named(uri: str) -> None:
    with pytest.raises(InvalidInputError, match="create, append, overwrite, not 'upsert'"):
        pennon.write_dataset(TABLE, uri, mode="upsert")  # type: ignore[arg-type]


def test_a_mismatch_lists_both_sides(uri: str) -> None:
    pennon.write_dataset(TABLE, uri)
    with pytest.raises(SchemaMismatchError) as caught:
        pennon.write_dataset(pa.table({"id": ["1"], "other": [1]}), uri, mode="append")
    assert {line.strip() for line in str(caught.value).splitlines()[1:]} >= {
        "- id: Int64",
        "+ id: Utf8",
        "+ other: Int64",
    }


def test_an_existing_dataset_is_named_with_the_way_out(uri: str) -> None:
    pennon.write_dataset(TABLE, uri)
    with pytest.raises(DatasetAlreadyExistsError) as caught:
        pennon.write_dataset(TABLE, uri)
    assert uri in str(caught.value)
    assert "append" in str(caught.value)
    assert caught.value.uri == uri


@pytest.mark.parametrize(
    "column",
    [
        pa.array([{"x": i, "y": {"z": {"w": str(i)}}} for i in range(1000)]),
        pa.array([None if i % 5 == 0 else {"x": {"y": [{"z": i}]}} for i in range(1000)]),
        pa.ListArray.from_arrays(
            pa.array(range(0, 991, 10), pa.int32()),
            pa.array([{"x": {"y": None if i % 3 else i}} for i in range(1000)]).slice(7),
        ),
    ],
    ids=["structs", "nulls", "lists"],
)
def test_slices_of_structs_within_structs_are_written_as_they_are(column: pa.Array) -> None:
    table = pa.table({"a": column}).slice(13)
    parts = table.to_reader(max_chunksize=17)
    for number, data in enumerate([parts, table, table.to_batches()[0]]):
        dataset = pennon.write_dataset(data, f"memory://nested-slices-{number}", mode="overwrite")
        assert dataset.to_table().to_pylist() == table.to_pylist()
