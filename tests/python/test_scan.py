"""Reading: projection, filters, limits, row ids, positions, and the ways in which rows arrive."""

import pickle
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from libraries import both_libraries

import pennon
from pennon.exceptions import InvalidInputError, RowIndexError

ROWS = 20
TABLE = pa.table(
    {
        "id": range(ROWS),
        "name": [None if i % 4 == 0 else f"n{i}" for i in range(ROWS)],
        "x": [i / 2 for i in range(ROWS)],
    }
)


def dataset_of(library: Any, uri: str) -> Any:
    """The table in fragments of 6, 6, 6 and 2 rows."""
    return library.write_dataset(TABLE, uri, max_rows_per_file=6)


@both_libraries
@pytest.mark.parametrize("columns", [None, ["x"], ["x", "id"], ["name", "id", "x"]])
def test_columns_come_in_the_order_asked_for(
    library: Any, columns: list[str] | None, uri: str
) -> None:
    found = dataset_of(library, uri).to_table(columns=columns)
    assert found.equals(TABLE.select(columns or TABLE.column_names))


@both_libraries
def test_no_columns_are_rows_without_values(library: Any, uri: str) -> None:
    found = dataset_of(library, uri).to_table(columns=[], with_row_id=True)
    assert found.column_names == ["_rowid"]
    assert found.num_rows == ROWS


@both_libraries
@pytest.mark.parametrize(
    ("limit", "offset", "ids"),
    [
        (3, None, [0, 1, 2]),
        (3, 5, [5, 6, 7]),
        (None, 18, [18, 19]),
        (5, 18, [18, 19]),
        (0, None, []),
        (5, 30, []),
    ],
)
def test_limit_and_offset_cut_rows(
    library: Any, limit: int | None, offset: int | None, ids: list[int], uri: str
) -> None:
    found = dataset_of(library, uri).to_table(limit=limit, offset=offset)
    assert found["id"].to_pylist() == ids


@both_libraries
def test_limit_and_offset_count_what_the_filter_lets_through(library: Any, uri: str) -> None:
    found = dataset_of(library, uri).to_table(filter="name IS NULL", limit=2, offset=2)
    assert found["id"].to_pylist() == [8, 12]


@both_libraries
def test_a_filter_may_use_columns_that_are_not_returned(library: Any, uri: str) -> None:
    found = dataset_of(library, uri).to_table(["name"], "id > 16")
    assert found.to_pydict() == {"name": ["n17", "n18", "n19"]}


@both_libraries
@pytest.mark.parametrize(
    ("predicate", "ids"),
    [
        ("name = 'n1'", [1]),
        ("NOT (id > 1 OR name = 'n1')", []),
        ("id < 3 AND name <> 'n1'", [2]),
        ("id < 3 AND NOT name = 'n1'", [2]),
        ("id < 3 AND (name = 'n1' OR id = 0)", [0, 1]),
        ("name IN ('n1', NULL)", [1]),
        ("name NOT IN ('n1', NULL)", []),
        ("id < 3 AND name NOT IN ('n1')", [2]),
        ("name IS NULL AND id < 5", [0, 4]),
        ("name IS NOT NULL AND id < 3", [1, 2]),
        ("name LIKE 'n1%' AND id < 12", [1, 10, 11]),
        ("name NOT LIKE 'n%'", []),
        ("name BETWEEN 'n1' AND 'n11'", [1, 10, 11]),
        ("coalesce(name, 'none') = 'none' AND id < 5", [0, 4]),
        ("(name = 'n1') IS NULL AND id < 5", [0, 4]),
        ("id % 7 = 3 OR x = 0.5", [1, 3, 10, 17]),
    ],
)
def test_predicates_are_three_valued(
    library: Any, predicate: str, ids: list[int], uri: str
) -> None:
    dataset = dataset_of(library, uri)
    assert dataset.to_table(filter=predicate)["id"].to_pylist() == ids
    assert dataset.count_rows(predicate) == len(ids)


@both_libraries
@pytest.mark.parametrize("keyword", ["with_row_id", "with_row_address"])
def test_row_ids_and_addresses_are_fragment_and_row(library: Any, keyword: str, uri: str) -> None:
    dataset = dataset_of(library, uri)
    dataset.delete("id = 1")
    found = dataset.to_table(columns=["id"], limit=7, **{keyword: True})
    name = {"with_row_id": "_rowid", "with_row_address": "_rowaddr"}[keyword]
    assert found.schema.field(name).type == pa.uint64()
    assert found["id"].to_pylist() == [0, 2, 3, 4, 5, 6, 7]
    assert found[name].to_pylist() == [0, 2, 3, 4, 5, (1 << 32), (1 << 32) + 1]


@both_libraries
def test_the_row_id_can_be_asked_for_by_name(library: Any, uri: str) -> None:
    found = dataset_of(library, uri).to_table(columns=["_rowid", "id"], limit=1)
    assert found.to_pylist() == [{"_rowid": 0, "id": 0}]


@both_libraries
def test_the_row_id_can_be_filtered_by(library: Any, uri: str) -> None:
    found = dataset_of(library, uri).to_table(columns=["id"], filter="_rowid = 3")
    assert found["id"].to_pylist() == [3]


@both_libraries
def test_take_returns_rows_in_the_order_of_their_positions(library: Any, uri: str) -> None:
    dataset = dataset_of(library, uri)
    assert dataset.take([19, 0, 7, 7, 6]).equals(TABLE.take([19, 0, 7, 7, 6]))
    assert dataset.take([3], columns=["x"]).equals(TABLE.take([3]).select(["x"]))
    assert dataset.take([]).equals(TABLE.slice(0, 0))


@both_libraries
@pytest.mark.parametrize("kind", [list, np.array, pa.array])
def test_positions_may_come_as(library: Any, kind: Any, uri: str) -> None:
    assert dataset_of(library, uri).take(kind([5, 2]))["id"].to_pylist() == [5, 2]


def test_negative_positions_count_from_the_end(uri: str) -> None:
    dataset = dataset_of(pennon, uri)
    assert dataset.take([-1, 0, -20])["id"].to_pylist() == [19, 0, 0]


@pytest.mark.parametrize("position", [20, -21, 2**40])
def test_positions_outside_of_the_dataset_are_refused(position: int, uri: str) -> None:
    with pytest.raises(RowIndexError, match=f"row {position} .* 20 rows"):
        dataset_of(pennon, uri).take([0, position])


@both_libraries
def test_head_returns_the_first_rows(library: Any, uri: str) -> None:
    dataset = dataset_of(library, uri)
    assert dataset.head(2).equals(TABLE.slice(0, 2))
    assert dataset.head(1, columns=["x"], filter="id > 3").to_pydict() == {"x": [2.0]}
    assert dataset.head(0).num_rows == 0


@both_libraries
def test_batches_are_bounded_and_end_with_their_fragment(library: Any, uri: str) -> None:
    dataset = dataset_of(library, uri)
    assert [b.num_rows for b in dataset.to_batches(batch_size=4)] == [4, 2, 4, 2, 4, 2, 2]
    assert pa.Table.from_batches(dataset.to_batches(["id"], "id > 7")).num_rows == 12


@both_libraries
def test_a_scanner_tells_its_schema_and_can_be_read_again(library: Any, uri: str) -> None:
    scanner = dataset_of(library, uri).scanner(columns=["x", "id"], filter="id < 2")
    assert scanner.dataset_schema.equals(TABLE.schema)
    assert scanner.projected_schema.names == ["x", "id"]
    expected = TABLE.slice(0, 2).select(["x", "id"])
    assert scanner.to_table().equals(expected)
    assert scanner.to_reader().read_all().equals(expected)
    assert pa.Table.from_batches(scanner.to_batches()).equals(expected)
    assert scanner.head(1).num_rows == 1
    assert scanner.count_rows() == 2


@both_libraries
def test_an_empty_result_keeps_its_schema(library: Any, uri: str) -> None:
    dataset = dataset_of(library, uri)
    for found in (
        dataset.to_table(filter="id < 0"),
        dataset.scanner(filter="id < 0").to_reader().read_all(),
    ):
        assert found.equals(TABLE.slice(0, 0))


def test_a_dataset_is_read_as_a_stream_by_other_libraries(uri: str) -> None:
    dataset = dataset_of(pennon, uri)
    assert pa.table(dataset).equals(TABLE)
    assert pa.RecordBatchReader.from_stream(dataset.scanner(limit=3)).read_all().num_rows == 3
    assert pa.schema(dataset).equals(TABLE.schema)
    assert pa.schema(dataset.scanner(["x"])).names == ["x"]
    assert pl.DataFrame(dataset).equals(pl.DataFrame(TABLE))
    assert duckdb.execute("SELECT sum(id) FROM dataset").fetchall() == [(190,)]


def test_a_scanner_shows_what_it_returns(uri: str) -> None:
    scanner = dataset_of(pennon, uri).scanner(["id"], "id > 3", limit=2)
    assert repr(scanner) == (
        f"LanceScanner('{uri}', version=1, columns=['id'], filter='id > 3', limit=2)"
    )


def test_a_scanner_pickles_with_its_version(uri: str) -> None:
    scanner = dataset_of(pennon, uri).scanner(filter="id > 16", columns=["id"])
    text = pickle.dumps(scanner)
    pennon.write_dataset(TABLE, uri, mode="append")
    assert pickle.loads(text).to_table().to_pydict() == {"id": [17, 18, 19]}


def test_a_reader_fails_with_the_error_of_its_cause(uri: str) -> None:
    dataset = dataset_of(pennon, uri)
    with pytest.raises(InvalidInputError, match="batch_size must be at least 1"):
        dataset.to_reader(batch_size=0)


@pytest.mark.parametrize("keyword", ["limit", "offset", "batch_size"])
def test_counts_are_not_negative(keyword: str, uri: str) -> None:
    with pytest.raises(InvalidInputError, match=f"{keyword} must not be negative, and it is -1"):
        dataset_of(pennon, uri).scanner(**{keyword: -1})
