"""Errors: their kinds, the built-in exceptions that they are, and what their messages name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import pennon
from pennon import exceptions
from pennon.exceptions import LanceError

TABLE = pa.table({"id": [1, 2, 3], "name": ["a", None, "c"]})
MONTHS = pa.table({"months": pa.array([None], pa.month_day_nano_interval())})

Action = Callable[[Any, str], Any]


def scan(**options: Any) -> Action:
    """Read the dataset with these options."""
    return lambda library, uri: library.dataset(uri).to_table(**options)


def write(table: pa.Table, suffix: str = "", **options: Any) -> Action:
    """Write the table to the dataset, or to another."""
    return lambda library, uri: library.write_dataset(table, uri + suffix, **options)


CASES: list[tuple[str, Action, type[LanceError], list[str]]] = [
    (
        "missing dataset",
        lambda library, uri: library.dataset(uri + "-nowhere"),
        exceptions.DatasetNotFoundError,
        ["{uri}-nowhere"],
    ),
    (
        "missing version",
        lambda library, uri: library.dataset(uri, version=9),
        exceptions.VersionNotFoundError,
        ["{uri}", "9", "newest is 1"],
    ),
    (
        "missing version of a handle",
        lambda library, uri: library.dataset(uri).checkout_version(9),
        exceptions.VersionNotFoundError,
        ["{uri}", "9", "newest is 1"],
    ),
    ("existing dataset", write(TABLE), exceptions.DatasetAlreadyExistsError, ["{uri}", "append"]),
    (
        "unknown mode",
        write(TABLE, mode="upsert"),
        exceptions.InvalidInputError,
        ["upsert", "create, append, overwrite"],
    ),
    (
        "other type",
        write(pa.table({"id": ["x"]}), mode="append"),
        exceptions.SchemaMismatchError,
        ["id", "Int64", "Utf8"],
    ),
    (
        "type that the format cannot hold",
        write(MONTHS, "-months"),
        exceptions.UnsupportedTypeError,
        ["months", "Interval"],
    ),
    (
        "type that the file version cannot hold",
        write(
            pa.table({"m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32()))}),
            "-map",
            data_storage_version="2.1",
        ),
        exceptions.UnsupportedTypeError,
        ["'m'", "map", "2.2"],
    ),
    (
        "unknown file version",
        write(TABLE, "-new", data_storage_version="9.9"),
        exceptions.UnsupportedFeatureError,
        ["9.9", "2.2"],
    ),
    (
        "unknown scheme",
        lambda library, _uri: library.dataset("gopher://host/data"),
        exceptions.UnsupportedFeatureError,
        ["gopher", "file://", "memory://"],
    ),
    ("unknown column", scan(columns=["nmae"]), exceptions.UnknownColumnError, ["nmae", "'name'"]),
    (
        "unknown column of a filter",
        scan(filter="nmae = 'a'"),
        exceptions.UnknownColumnError,
        ["nmae", "'name'"],
    ),
    (
        "column asked for twice",
        scan(columns=["id", "id"]),
        exceptions.InvalidInputError,
        ["'id'", "twice"],
    ),
    ("broken SQL", scan(filter="id >"), exceptions.InvalidExpressionError, ["syntax error"]),
    (
        "types that do not compare",
        scan(filter="id = 'x'"),
        exceptions.InvalidExpressionError,
        ["'id'", "Int64", "'x'"],
    ),
    (
        "filter that is no condition",
        scan(filter="id + 1"),
        exceptions.InvalidExpressionError,
        ["boolean", "Int64"],
    ),
    ("negative limit", scan(limit=-1), exceptions.InvalidInputError, ["limit", "-1"]),
    (
        "batches of no rows",
        scan(batch_size=0),
        exceptions.InvalidInputError,
        ["batch_size", "at least 1"],
    ),
    (
        "row beyond the end",
        lambda library, uri: library.dataset(uri).take([3]),
        exceptions.RowIndexError,
        ["row 3", "3 rows"],
    ),
    (
        "delete of an unknown column",
        lambda library, uri: library.dataset(uri).delete("idd = 1"),
        exceptions.UnknownColumnError,
        ["idd", "'id'"],
    ),
    (
        "count of an unknown column",
        lambda library, uri: library.dataset(uri).count_rows("idd = 1"),
        exceptions.UnknownColumnError,
        ["idd", "'id'"],
    ),
    (
        "commit to nothing",
        lambda library, uri: library.LanceDataset.commit(
            uri + "-nowhere", library.LanceOperation.Append([]), read_version=1
        ),
        exceptions.DatasetNotFoundError,
        ["{uri}-nowhere"],
    ),
]


@pytest.mark.parametrize(
    ("action", "kind", "named"),
    [case[1:] for case in CASES],
    ids=[case[0].replace(" ", "-") for case in CASES],
)
def test_a_failure_is_of_its_kind_and_of_that_of_pylance(
    action: Action, kind: type[LanceError], named: list[str], uri: str
) -> None:
    pennon.write_dataset(TABLE, uri)
    with pytest.raises(LanceError) as caught:
        action(pennon, uri)
    assert type(caught.value) is kind
    assert [part for part in named if part.format(uri=uri) not in str(caught.value)] == []
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        action(lance, uri)
    assert isinstance(caught.value, type(theirs.value))
    assert pennon.dataset(uri).latest_version == 1


def test_an_unknown_column_of_take_is_named(uri: str) -> None:
    dataset = pennon.write_dataset(TABLE, uri)
    with pytest.raises(exceptions.UnknownColumnError, match="did you mean 'name'") as caught:
        dataset.take([0], columns=["nmae"])
    assert caught.value.column == "nmae"


def test_a_column_that_resembles_none_is_answered_with_all(uri: str) -> None:
    dataset = pennon.write_dataset(TABLE, uri)
    with pytest.raises(exceptions.UnknownColumnError, match="the columns are: id, name"):
        dataset.to_table(columns=["quantity"])


def test_facts_are_attributes(uri: str) -> None:
    pennon.write_dataset(TABLE, uri)
    with pytest.raises(exceptions.VersionNotFoundError) as caught:
        pennon.dataset(uri, version=9)
    assert (caught.value.uri, caught.value.version) == (uri, 9)


def test_a_single_name_is_not_taken_for_a_list_of_letters(uri: str) -> None:
    dataset = pennon.write_dataset(TABLE, uri)
    with pytest.raises(exceptions.InvalidInputError, match=r"write \['id'\]"):
        dataset.to_table(columns="id")


def test_what_pylance_has_beyond_is_refused_by_name(uri: str) -> None:
    dataset = pennon.write_dataset(TABLE, uri)
    with pytest.raises(exceptions.UnsupportedFeatureError, match="dict of SQL expressions"):
        dataset.to_table(columns={"a": "id + 1"})  # type: ignore[arg-type]
    with pytest.raises(exceptions.UnsupportedFeatureError, match="'Expression' is not supported"):
        dataset.to_table(filter=pa.compute.field("id") > 1)


@pytest.mark.parametrize("keep", [0, 10, 100, -1])
def test_a_damaged_file_is_named(keep: int, uri: str) -> None:
    dataset = pennon.write_dataset(pa.table({"id": range(1000)}), uri)
    (file,) = Path(uri).glob("data/*.lance")
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(exceptions.CorruptFileError, match=file.name):
        pennon.dataset(dataset.uri).to_table()


def test_a_reader_keeps_the_kind_of_an_error(uri: str) -> None:
    dataset = pennon.write_dataset(pa.table({"id": range(1000)}), uri)
    (file,) = Path(uri).glob("data/*.lance")
    file.write_bytes(b"")
    with pytest.raises(exceptions.CorruptFileError, match=file.name):
        pennon.dataset(dataset.uri).to_reader().read_all()


def test_a_missing_file_is_named(uri: str) -> None:
    pennon.write_dataset(TABLE, uri)
    (file,) = Path(uri).glob("data/*.lance")
    file.unlink()
    with pytest.raises(OSError, match=file.name) as caught:
        pennon.dataset(uri).to_table()
    assert isinstance(caught.value, LanceError)


def test_every_exception_is_a_lance_error() -> None:
    kinds = [getattr(exceptions, name) for name in exceptions.__all__]
    assert all(issubclass(kind, LanceError) for kind in kinds)
    assert [kind for kind in kinds if kind is not LanceError and not kind.__doc__] == []
