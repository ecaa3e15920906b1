"""Processes, threads and signals: forks, pools, Ctrl-C, and an import that costs nothing."""

import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import pennon

ROWS = 200_000
PATIENCE = 60.0

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@pytest.fixture
def dataset(uri: str) -> pennon.LanceDataset:
    """Some rows in several fragments, read once, so that worker threads and caches exist."""
    table = pa.table({"id": range(ROWS), "name": [f"name {i % 1000}" for i in range(ROWS)]})
    dataset = pennon.write_dataset(table, uri, max_rows_per_file=ROWS // 4)
    assert checksum(dataset) == expected_checksum()
    return dataset


def checksum(dataset: pennon.LanceDataset) -> int:
    """The sum of the ids whose names end in 7."""
    found = dataset.to_table(columns=["id"], filter="name LIKE '%7'")
    return int(pa.compute.sum(found["id"]).as_py())


def expected_checksum() -> int:
    """What `checksum` returns."""
    return sum(number for number in range(ROWS) if number % 10 == 7)


def in_fork(action: Callable[[], bool]) -> bool:
    """Run the action in a forked child; whether it succeeded."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if action() else 1)
        finally:
            os._exit(2)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    raise AssertionError("the child process hangs")


@needs_fork
def test_a_forked_child_reads_with_its_parents_handle(dataset: pennon.LanceDataset) -> None:
    assert in_fork(lambda: checksum(dataset) == expected_checksum())
    assert checksum(dataset) == expected_checksum()


@needs_fork
def test_a_forked_child_opens_and_writes(dataset: pennon.LanceDataset, uri: str) -> None:
    def child() -> bool:
        appended = pennon.write_dataset(dataset.head(10), uri, mode="append")
        return appended.count_rows() == ROWS + 10 and pennon.dataset(uri).delete("id < 5") == {
            "num_deleted_rows": 10
        }

    assert in_fork(child)
    dataset.checkout_latest()
    assert (dataset.version, dataset.count_rows()) == (3, ROWS)


@needs_fork
def test_a_grandchild_reads_as_well(dataset: pennon.LanceDataset) -> None:
    def child() -> bool:
        return checksum(dataset) == expected_checksum() and in_fork(
            lambda: checksum(dataset) == expected_checksum()
        )

    assert in_fork(child)


@needs_fork
def test_a_fork_beside_running_scans_neither_hangs_nor_breaks_them(
    dataset: pennon.LanceDataset, uri: str
) -> None:
    stop = threading.Event()

    def scan_on() -> int:
        scans = 0
        while not stop.is_set():
            assert checksum(dataset) == expected_checksum()
            scans += 1
        return scans

    with ThreadPoolExecutor(2) as threads:
        scanning = [threads.submit(scan_on) for _ in range(2)]
        outcomes = [
            in_fork(lambda: checksum(pennon.dataset(uri)) == expected_checksum()) for _ in range(5)
        ]
        stop.set()
        assert outcomes == [True] * 5
        assert all(future.result() > 0 for future in scanning)


@needs_fork
def test_a_scan_that_was_begun_before_the_fork_tells_the_child(
    dataset: pennon.LanceDataset,
) -> None:
    batches = dataset.to_batches(batch_size=100)
    next(batches)

    def child() -> bool:
        try:
            rows = sum(batch.num_rows for batch in batches)
        except pennon.LanceError as error:
            return "fork" in str(error)
        return bool(rows == ROWS - 100)

    assert in_fork(child)
    assert sum(batch.num_rows for batch in batches) == ROWS - 100


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_process_pool_shares_a_dataset(method: str, dataset: pennon.LanceDataset) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no fork")
    with multiprocessing.get_context(method).Pool(2) as pool:
        counts = pool.map_async(pennon.LanceDataset.count_rows, [dataset] * 4).get(PATIENCE)
        tables = pool.map_async(pennon.LanceFragment.to_table, dataset.get_fragments())
        assert counts == [ROWS] * 4
        assert sum(table.num_rows for table in tables.get(PATIENCE)) == ROWS


def test_threads_scan_one_dataset_at_once(dataset: pennon.LanceDataset) -> None:
    with ThreadPoolExecutor(8) as threads:
        sums = list(threads.map(lambda _: checksum(dataset), range(32)))
    assert sums == [expected_checksum()] * 32


def test_other_threads_run_while_a_scan_works(dataset: pennon.LanceDataset) -> None:
    longer = repeated(dataset, 30)
    began, ended = threading.Event(), threading.Event()

    def ticks() -> int:
        began.wait()
        count = 0
        while not ended.is_set():
            count += 1
            time.sleep(0.001)
        return count

    with ThreadPoolExecutor(1) as threads:
        counted = threads.submit(ticks)
        began.set()
        longer.count_rows("name LIKE '%x%y%'")
        ended.set()
    assert counted.result() > 10


def repeated(dataset: pennon.LanceDataset, times: int) -> pennon.LanceDataset:
    """A dataset that takes long to scan: its fragments refer to the same files many times."""
    parts = [part.metadata for part in dataset.get_fragments()] * times
    operation = pennon.LanceOperation.Append(parts)
    return pennon.LanceDataset.commit(dataset.uri, operation, durable=False)


LONG_SCAN = """
import _thread, pickle, sys, threading, time
import pyarrow as pa
import pennon

pressed = []
def press():
    pressed.append(time.monotonic())
    _thread.interrupt_main()

dataset = pickle.loads(bytes.fromhex(sys.argv[1]))
nothing = dataset.scanner(filter="name LIKE '%x%y%'")
threading.Timer(1.5, press).start()
try:
    ACTION
except KeyboardInterrupt:
    print(time.monotonic() - pressed[0])
"""


@pytest.mark.parametrize(
    "action",
    [
        "nothing.to_table()",
        "list(nothing.to_batches())",
        "nothing.to_reader().read_all()",
        "pa.table(nothing)",
        "nothing.count_rows()",
        "dataset.delete(\"name LIKE '%x%y%'\")",
        "pennon.write_dataset(dataset, dataset.uri + '-copy')",
    ],
)
def test_ctrl_c_ends_a_long_scan_at_once(action: str, dataset: pennon.LanceDataset) -> None:
    program = LONG_SCAN.replace("ACTION", action)
    handle = pickle.dumps(repeated(dataset, 1000)).hex()
    done = subprocess.run(
        [sys.executable, "-c", program, handle],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1.0


def test_ctrl_c_ends_a_write_and_leaves_nothing_behind(
    dataset: pennon.LanceDataset, uri: str
) -> None:
    def rows() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"id": [1], "name": ["a"]})
        raise KeyboardInterrupt

    files = sorted(Path(uri).rglob("*"))
    with pytest.raises(KeyboardInterrupt):
        pennon.write_dataset(rows(), uri, schema=dataset.schema, mode="append")
    assert sorted(Path(uri).rglob("*")) == files


def facts_after(program: str) -> Any:
    """What a fresh interpreter prints as a Python literal."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_importing_starts_no_thread_and_imports_no_pyarrow() -> None:
    program = """
import os, sys, threading
import pennon
tasks = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
print(tasks, threading.active_count(), sorted({"pyarrow", "numpy", "pandas"} & set(sys.modules)))
"""
    assert facts_after(program) == "1 1 []"


def test_a_dataset_that_is_only_opened_starts_no_thread(dataset: pennon.LanceDataset) -> None:
    program = f"""
import os, sys
import pennon
dataset = pennon.dataset({dataset.uri!r})
tasks = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
print(tasks, dataset.count_rows(), "pyarrow" in sys.modules)
"""
    assert facts_after(program) == f"1 {ROWS} False"
