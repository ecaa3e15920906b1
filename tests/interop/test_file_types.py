"""Every type and every field setting of the file format, through both implementations."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import pennon

pytestmark = pytest.mark.interop

both_formats = pytest.mark.parametrize("version", ["2.1", "2.2"])
sizes = pytest.mark.parametrize("rows", [1, 3, 1000, 5000])

EXTENSION_NAME = b"ARROW:extension:name"


@contextmanager
def scratch() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield str(Path(folder) / "dataset")


def assert_equal(got: pa.Table, expected: pa.Table) -> None:
    got.validate(full=True)
    assert got.schema.equals(expected.schema, check_metadata=True), (got.schema, expected.schema)
    for name in expected.column_names:
        assert decoded(got[name]).equals(decoded(expected[name])), name


def decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Equal dictionary columns may have different dictionaries."""
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    return column


def assert_reads(dataset: Any, expected: pa.Table) -> None:
    """The whole table, and some of its rows."""
    assert_equal(dataset.to_table(), expected)
    rows = sorted({0, expected.num_rows // 2, expected.num_rows - 1})
    assert_equal(dataset.take(rows), expected.take(rows))


def hand_over(table: pa.Table, version: str) -> None:
    """Pylance reads what pennon wrote as it was given, and the other way round."""
    with scratch() as uri:
        pennon.write_dataset(table, uri, data_storage_version=version)
        assert_reads(pennon.dataset(uri), table)
        assert_reads(lance.dataset(uri), table)
        lance.dataset(uri).validate()
    with scratch() as uri:
        lance.write_dataset(table, uri, data_storage_version=version)
        assert_reads(pennon.dataset(uri), lance.dataset(uri).to_table())


def one_column(array: pa.Array, metadata: dict[bytes, bytes] | None = None) -> pa.Table:
    field = pa.field("c", array.type, metadata=metadata)
    return pa.Table.from_arrays([array], schema=pa.schema([field]))


def columns(arrays: dict[str, pa.Array], metadata: dict[bytes, bytes] | None = None) -> pa.Table:
    fields = [pa.field(name, array.type, metadata=metadata) for name, array in arrays.items()]
    return pa.Table.from_arrays(list(arrays.values()), schema=pa.schema(fields))


def with_nulls(array: pa.Array, every: int) -> pa.Array:
    values = array.to_pylist()
    return pa.array([None if i % every == 1 else v for i, v in enumerate(values)], array.type)


def flat_arrays(rows: int) -> dict[str, pa.Array]:
    random = np.random.default_rng(rows)
    numbers = random.integers(0, 2**62, rows)
    arrays = {}
    for name in ("int8", "uint16", "int32", "uint64"):
        arrays[name] = pa.array(numbers.astype(name))
        arrays[f"{name} few"] = pa.array((numbers % 13).astype(name))
        arrays[f"{name} runs"] = pa.array(np.repeat(numbers % 100, 50)[:rows].astype(name))
        arrays[f"{name} constant"] = pa.array(np.full(rows, 5, name))
    for name in ("float16", "float32", "float64"):
        arrays[name] = pa.array(random.standard_normal(rows).astype(name))
    arrays["bool"] = pa.array(numbers % 2 == 0)
    urls = [f"https://example.org/{n % 100_003}/{i}" for i, n in enumerate(numbers)]
    for string in (pa.utf8(), pa.large_utf8(), pa.binary(), pa.large_binary()):
        arrays[str(string)] = pa.array(urls, pa.utf8()).cast(string)
    arrays["long strings"] = pa.array(["y" * int(n % 900) for n in numbers])
    arrays["few strings"] = pa.array([f"kind {n % 40}" for n in numbers])
    arrays["empty strings"] = pa.array([""] * rows)
    arrays["decimal128"] = pa.array((numbers % 10**6).astype("int64")).cast(pa.decimal128(20, 0))
    arrays["decimal256"] = arrays["decimal128"].cast(pa.decimal256(40, 2))
    arrays["timestamp"] = pa.array(numbers % 10**15).cast(pa.timestamp("us", "Europe/Berlin"))
    arrays["duration"] = pa.array(numbers % 10**15).cast(pa.duration("ns"))
    arrays["date64"] = (
        pa.array((numbers % 20_000).astype("int32")).cast(pa.date32()).cast(pa.date64())
    )
    arrays["time32"] = pa.array((numbers % 80_000).astype("int32")).cast(pa.time32("s"))
    for width in (1, 4, 5, 300):
        arrays[f"binary({width})"] = pa.array([random.bytes(width) for _ in urls], pa.binary(width))
    return arrays


def nested_arrays(rows: int) -> dict[str, pa.Array]:
    random = np.random.default_rng(rows + 1)
    lengths = random.integers(0, 6, rows)
    floats = pa.array(random.standard_normal(rows * 128).astype("float32"))
    items = [list(range(n)) for n in lengths]
    points = [[{"x": i, "y": str(i) if i % 3 else None} for i in part] for part in items]
    maybe = [None if len(part) == 5 else part for part in items]
    return {
        "vectors": pa.FixedSizeListArray.from_arrays(floats, 128),
        "small vectors": pa.FixedSizeListArray.from_arrays(with_nulls(floats[: rows * 4], 7), 4),
        "lists": pa.array(maybe, pa.list_(pa.int32())),
        "large lists": pa.array(
            [[str(i) for i in part] for part in items], pa.large_list(pa.utf8())
        ),
        "lists of lists": pa.array(
            [[part, None, []] for part in maybe], pa.list_(pa.list_(pa.int16()))
        ),
        "points": pa.array(points, pa.list_(pa.struct([("x", pa.int64()), ("y", pa.utf8())]))),
        "structs": pa.array(
            [None if len(part) == 4 else {"l": part, "n": len(part)} for part in items],
            pa.struct([("l", pa.list_(pa.int8())), ("n", pa.int32())]),
        ),
        "dictionary": pa.DictionaryArray.from_arrays(
            with_nulls(pa.array((lengths % 5).astype("int8")), 4), pa.array(list("abcde"))
        ),
        "null": pa.nulls(rows),
        "long items": pa.array([["z" * 300 * n] for n in lengths], pa.list_(pa.utf8())),
    }


@both_formats
@sizes
def test_flat_types(version: str, rows: int) -> None:
    arrays = flat_arrays(rows)
    hand_over(columns(arrays), version)
    hand_over(columns({name: with_nulls(array, 3) for name, array in arrays.items()}), version)


@both_formats
@sizes
def test_nested_types(version: str, rows: int) -> None:
    hand_over(columns(nested_arrays(rows)), version)


@both_formats
@sizes
def test_structs_without_fields(version: str, rows: int) -> None:
    # pylance cannot read them beside a list.
    hand_over(one_column(pa.array([{}] * rows, pa.struct([]))), version)


@sizes
def test_maps(rows: int) -> None:
    maps = [[(f"k{j}", j) for j in range(i % 4)] for i in range(rows)]
    table = one_column(pa.array(maps, pa.map_(pa.utf8(), pa.int32())))
    hand_over(table, "2.2")
    with scratch() as uri, pytest.raises(Exception, match=r"2\.2"):
        pennon.write_dataset(table, uri, data_storage_version="2.1")


@both_formats
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("compression", "zstd"),
        ("compression", "lz4"),
        ("compression", "fsst"),
        ("compression", "none"),
        ("structural-encoding", "fullzip"),
        ("structural-encoding", "miniblock"),
        ("bss", "on"),
        ("rle-threshold", "0.5"),
        ("dict-divisor", "4"),
        ("dict-size-ratio", "0.5"),
        ("dict-values-compression", "zstd"),
        ("minichunk-size", "1024"),
    ],
)
def test_settings(version: str, key: str, value: str) -> None:
    arrays = flat_arrays(3000)
    names = ("int32 runs", "float64", "string", "few strings")
    metadata = {f"lance-encoding:{key}".encode(): value.encode()}
    hand_over(columns({name: arrays[name] for name in names}, metadata), version)


@pytest.mark.parametrize(
    ("key", "known"),
    [
        ("compression", "zstd, lz4, fsst, none"),
        ("structural-encoding", "miniblock, fullzip"),
        ("bss", "on, off, auto"),
        ("dict-divisor", "whole numbers"),
    ],
)
def test_unknown_settings_are_refused(key: str, known: str) -> None:
    table = one_column(pa.array([1, 2]), {f"lance-encoding:{key}".encode(): b"perhaps"})
    with scratch() as uri, pytest.raises(Exception, match=known):
        pennon.write_dataset(table, uri)


def packed(fields: list[tuple[str, pa.Array]], mask: pa.Array | None = None) -> pa.Table:
    columns = [pa.field(name, array.type, nullable=False) for name, array in fields]
    arrays = [array for _, array in fields]
    structs = pa.StructArray.from_arrays(arrays, fields=columns, mask=mask)
    return one_column(structs, {b"lance-encoding:packed": b"true"})


@both_formats
@sizes
def test_packed_structs(version: str, rows: int) -> None:
    arrays = flat_arrays(rows)
    mask = pa.array([i % 5 == 2 for i in range(rows)])
    fixed = [("a", arrays["int32"]), ("b", arrays["float64"]), ("c", arrays["int8"])]
    hand_over(packed(fixed), version)
    hand_over(packed(fixed, mask), version)
    varying = [("a", arrays["int32"]), ("s", arrays["long strings"])]
    if version == "2.2":
        hand_over(packed(varying), version)
        hand_over(packed(varying, mask), version)
    else:
        with scratch() as uri, pytest.raises(Exception, match=r"c\.s.*2\.2"):
            pennon.write_dataset(packed(varying), uri, data_storage_version=version)


@pytest.mark.parametrize("values", [[True, False], [[1], [2]], [{"x": 1}, {"x": 2}]], ids=str)
def test_what_cannot_be_packed_is_refused_by_name(values: list[Any]) -> None:
    with scratch() as uri, pytest.raises(Exception, match=r"c\.flag"):
        pennon.write_dataset(packed([("flag", pa.array(values))]), uri)


@both_formats
def test_extension_types(version: str) -> None:
    numbers = np.arange(60, dtype="float32").reshape(10, 2, 3)
    bfloat16 = {EXTENSION_NAME: b"lance.bfloat16", b"ARROW:extension:metadata": b""}
    item = pa.field("item", pa.binary(2), metadata=bfloat16)
    halves = pa.array([b"ab", b"cd", b"ef", b"gh"], pa.binary(2))
    tables = [
        one_column(pa.array([b"0123456789abcdef", None], pa.uuid())),
        one_column(pa.array([1, None, 0], pa.bool8())),
        one_column(pa.FixedShapeTensorArray.from_numpy_ndarray(numbers)),
        one_column(halves, bfloat16),
        one_column(pa.FixedSizeListArray.from_arrays(halves, type=pa.list_(item, 2))),
    ]
    for table in tables:
        with scratch() as uri:
            pennon.write_dataset(table, uri, data_storage_version=version)
            assert_reads(pennon.dataset(uri), table)
            assert lance.dataset(uri).to_table().to_pylist() == table.to_pylist()
        with scratch() as uri:
            lance.write_dataset(table, uri, data_storage_version=version)
            assert pennon.dataset(uri).to_table().to_pylist() == table.to_pylist()


@both_formats
@pytest.mark.parametrize("text", [pa.utf8(), pa.large_utf8()], ids=str)
def test_json(version: str, text: pa.DataType) -> None:
    documents = [
        '{"b":2.0,"a":1e20,"c":-0.0,"d":1.5e-7,"e":123456789012,"f":-5,"g":18446744073709551615}',
        None,
        '[1,2.5,{"x":"\\u0000\\n€😀"}]',
        "null",
        ' { "k" : [ true , false , { } ] } ',
    ]
    table = one_column(pa.array(documents * 50, pa.json_(text)))
    with scratch() as ours, scratch() as theirs:
        pennon.write_dataset(table, ours, data_storage_version=version)
        lance.write_dataset(table, theirs, data_storage_version=version)
        expected = lance.dataset(theirs).to_table()
        assert_equal(pennon.dataset(ours).to_table(), expected)
        assert_equal(pennon.dataset(theirs).to_table(), expected)
        assert_equal(lance.dataset(ours).to_table(), expected)
        pennon.write_dataset(table, theirs, mode="append")
        assert lance.dataset(theirs).count_rows() == 2 * table.num_rows


def test_text_that_is_no_json_is_refused() -> None:
    table = one_column(pa.array(["{", "[]"], pa.json_(pa.utf8())))
    with scratch() as uri, pytest.raises(Exception, match="no JSON"):
        pennon.write_dataset(table, uri)


def restored() -> dict[str, pa.Array]:
    ordered = pa.DictionaryArray.from_arrays([0, 1, None], ["a", "b"], ordered=True)
    not_null = pa.list_(pa.field("element", pa.float32(), nullable=False), 2)
    long = "longer than a view holds inline"
    return {
        "string views": pa.array(["a", None, long], pa.string_view()),
        "binary views": pa.array([b"a", None, b""], pa.binary_view()),
        "lists of views": pa.array([["a", None], None, [long]], pa.list_(pa.string_view())),
        "ordered dictionary": ordered,
        "items that are not null": pa.array([[1, 2], [3, 4]], not_null),
    }


@both_formats
@pytest.mark.parametrize("name", restored())
def test_what_others_do_not_see_is_restored(version: str, name: str) -> None:
    array = restored()[name]
    with scratch() as uri:
        pennon.write_dataset(one_column(array), uri, data_storage_version=version)
        assert_equal(pennon.dataset(uri).to_table(), one_column(array))
        assert lance.dataset(uri).to_table()["c"].to_pylist() == array.to_pylist()


@both_formats
@pytest.mark.parametrize(
    "array",
    [
        pa.array([["a", "b"]], pa.list_(pa.utf8(), 2)),
        pa.array([{}, None], pa.struct([])),
        pa.array([[{}], []], pa.list_(pa.struct([]))),
        pa.array([[("a", 1)]], pa.map_(pa.utf8(), pa.int8(), keys_sorted=True)),
    ],
    ids=["strings", "null structs", "structs in lists", "sorted map"],
)
def test_what_cannot_be_stored_is_refused_by_name(version: str, array: pa.Array) -> None:
    with scratch() as uri, pytest.raises(Exception, match="'c"):
        pennon.write_dataset(one_column(array), uri, data_storage_version=version)


def test_fixed_size_lists_of_structs_are_read() -> None:
    of = pa.list_(pa.struct([("x", pa.int64()), ("y", pa.utf8())]), 2)
    lists = [[{"x": 1, "y": "a"}, {"x": 2, "y": None}], None, [{"x": 5, "y": "q"}, None]]
    table = one_column(pa.array(lists * 400, of))
    with scratch() as uri:
        lance.write_dataset(table, uri, data_storage_version="2.2")
        assert_equal(pennon.dataset(uri).to_table(), table)
        assert_equal(pennon.dataset(uri).take([1, 5, 600]), table.take([1, 5, 600]))


@both_formats
def test_large_objects(version: str) -> None:
    values = [b"hello", None, b"", b"x" * 70_000, b"y"]
    table = one_column(pa.array(values, pa.large_binary()), {b"lance-encoding:blob": b"true"})
    with scratch() as uri:
        lance.write_dataset(table, uri, data_storage_version=version)
        assert_equal(pennon.dataset(uri).to_table(), lance.dataset(uri).to_table())
    with scratch() as uri:
        pennon.write_dataset(table, uri, data_storage_version=version)
        assert_equal(pennon.dataset(uri).to_table(), lance.dataset(uri).to_table())
        blobs = lance.dataset(uri).scanner(columns=["c"], blob_handling="all_binary").to_table()
        assert blobs["c"].to_pylist() == values
