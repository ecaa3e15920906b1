"""pennon beside pylance and Parquet on TPC-H `lineitem`: times, sizes and peak memory.

    make bench                      scale factor 1: 6 million rows, 16 columns
    make bench ARGS="--quick"       scale factor 0.1, fewer rounds
    make bench ARGS="--sf 10"

All engines work on the same Arrow table and the same disk, in rounds that alternate between them,
with warm file caches; a figure is the median of the rounds. Every answer is checked against the
other engines' answers; a dash stands where an engine would need minutes. No engine waits for the
disk (pennon runs with `durable=False`, because the others never wait). Peak memory is that of a
fresh process that opens and reads the data once.
"""

import argparse
import importlib
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "pennon" / "bench"
COLUMNS = ["l_quantity", "l_comment"]
FIRST, END = "1995-03-01", "1995-03-08"
BASELINE = "pylance-2.2"


class Engine(Protocol):
    """What a storage engine is asked to do; each call opens its data anew."""

    path: Path

    def write(self, table: pa.Table) -> None: ...
    def open(self) -> Any: ...
    def scan(self) -> pa.Table: ...
    def stream(self) -> Iterator[pa.RecordBatch]: ...
    def project(self) -> pa.Table: ...
    def filter(self) -> pa.Table: ...
    def take(self, opened: Any, rows: list[int]) -> pa.Table: ...


@dataclass
class Lance:
    """pennon or pylance: one API."""

    library: str
    version: str
    path: Path

    @property
    def module(self) -> Any:
        return importlib.import_module(self.library)

    def write(self, table: pa.Table) -> None:
        durable = {"durable": False} if self.library == "pennon" else {}
        self.module.write_dataset(
            table, self.path, mode="overwrite", data_storage_version=self.version, **durable
        )

    def open(self) -> Any:
        return self.module.dataset(self.path)

    def scan(self) -> pa.Table:
        return self.open().to_table()

    def stream(self) -> Iterator[pa.RecordBatch]:
        batches: Iterator[pa.RecordBatch] = self.open().to_batches()
        return batches

    def project(self) -> pa.Table:
        return self.open().to_table(columns=COLUMNS)

    def filter(self) -> pa.Table:
        return self.open().to_table(
            filter=f"l_shipdate >= date '{FIRST}' AND l_shipdate < date '{END}'"
        )

    def take(self, opened: Any, rows: list[int]) -> pa.Table:
        return opened.take(rows)


@dataclass
class Parquet:
    """One Parquet file, compressed with zstd, by pyarrow."""

    path: Path

    def write(self, table: pa.Table) -> None:
        pq.write_table(table, self.path, compression="zstd")

    def open(self) -> Any:
        return pads.dataset(self.path)

    def scan(self) -> pa.Table:
        return pq.read_table(self.path)

    def stream(self) -> Iterator[pa.RecordBatch]:
        batches: Iterator[pa.RecordBatch] = pq.ParquetFile(self.path).iter_batches()
        return batches

    def project(self) -> pa.Table:
        return pq.read_table(self.path, columns=COLUMNS)

    def filter(self) -> pa.Table:
        shipped = pc.field("l_shipdate")
        first, end = (pa.scalar(day).cast(pa.date32()) for day in (FIRST, END))
        return pq.read_table(self.path, filters=(shipped >= first) & (shipped < end))

    def take(self, opened: Any, rows: list[int]) -> pa.Table:
        return opened.take(rows)


def engines(folder: Path) -> dict[str, Engine]:
    """All engines, the one that we answer for first."""
    return {
        "pennon-2.2": Lance("pennon", "2.2", folder / "pennon22.lance"),
        "pennon-2.1": Lance("pennon", "2.1", folder / "pennon21.lance"),
        "pylance-2.2": Lance("lance", "2.2", folder / "pylance22.lance"),
        "pylance-2.1": Lance("lance", "2.1", folder / "pylance21.lance"),
        "parquet-zstd": Parquet(folder / "lineitem.parquet"),
    }


Task = Callable[[Engine], int | None]
"""Does the work and returns a number that must be the same for every engine; None: left out."""


def tasks(table: pa.Table) -> dict[str, Task]:
    """What is measured, by the name that the report gives it."""
    rng = np.random.default_rng(42)
    thousand = np.sort(rng.choice(table.num_rows, 1000, replace=False)).tolist()
    hundred = rng.integers(0, table.num_rows, 100).tolist()

    def write(engine: Engine) -> int:
        remove(engine.path)
        engine.write(table)
        return int(table.num_rows)

    def single_rows(engine: Engine) -> int | None:
        if isinstance(engine, Parquet):
            return None
        opened = engine.open()
        total = 0
        for row in hundred:
            total += keys(engine.take(opened, [row]))
        return total

    return {
        "write": write,
        "open": lambda engine: engine.open() is None,
        "full scan to a table": lambda engine: engine.scan().num_rows,
        "stream of batches": lambda engine: sum(batch.num_rows for batch in engine.stream()),
        "two columns": lambda engine: engine.project().num_rows,
        "filter, 0.3 % of rows": lambda engine: keys(engine.filter()),
        "take 1,000 random rows": lambda engine: keys(engine.take(engine.open(), thousand)),
        "100 times take one row": single_rows,
    }


def keys(table: pa.Table) -> int:
    """Sum the order keys: equal rows give equal sums."""
    total: int = pc.sum(table["l_orderkey"]).as_py() or 0
    return total


def measure(chosen: dict[str, Engine], table: pa.Table, rounds: int) -> dict[str, dict[str, float]]:
    """Return the median seconds by task and engine; one more round warms everything up."""
    found: dict[str, dict[str, float]] = {}
    for title, task in tasks(table).items():
        seconds: dict[str, list[float]] = {name: [] for name in chosen}
        answers: dict[str, int | None] = {}
        for number in range(rounds + 1):
            for name, engine in chosen.items():
                start = time.perf_counter()
                answers[name] = task(engine)
                if number:
                    seconds[name].append(time.perf_counter() - start)
        skipped = {name for name, answer in answers.items() if answer is None}
        if len(set(answers.values()) - {None}) > 1:
            sys.exit(f"the engines disagree about {title}: {answers}")
        found[title] = {
            name: statistics.median(times) for name, times in seconds.items() if name not in skipped
        }
        print(f"measured: {title}", file=sys.stderr, flush=True)
    return found


def peak_memory(folder: Path, name: str, action: str) -> float:
    """Return the peak memory, in MB, of a process that reads the data of one engine."""
    command = [sys.executable, __file__, "--child", name, action, "--folder", str(folder)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def child(folder: Path, name: str, action: str) -> None:
    """Read the data once, and print this process's peak memory in MB."""
    engine = engines(folder)[name]
    if action == "scan":
        engine.scan()
    else:
        for _ in engine.stream():
            pass
    print(own_peak() / 1e6)


def own_peak() -> int:
    """Peak resident memory of this process in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # `ru_maxrss` would count the parent's memory before exec on Linux
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def report(
    names: list[str],
    times: dict[str, dict[str, float]],
    sizes: dict[str, int],
    memory: dict[str, dict[str, float]],
) -> None:
    """Print a Markdown table: each figure, and pennon's as a multiple of the baseline's."""
    rows = [(title, {n: v * 1e3 for n, v in found.items()}, "ms") for title, found in times.items()]
    rows += [("size on disk", {n: v / 1e6 for n, v in sizes.items()}, "MB")]
    rows += [(f"peak memory, {action}", found, "MB") for action, found in memory.items()]
    ours, comparable = names[0], BASELINE in names
    print(f"| | {' | '.join(names)} |" + (f" {ours} / {BASELINE} |" if comparable else ""))
    print("|---" + "|---:" * (len(names) + comparable) + "|")
    for title, values, unit in rows:
        cells = " | ".join(f"{values[n]:,.1f} {unit}" if n in values else "-" for n in names)
        ratio = f" {values[ours] / values[BASELINE]:.2f} |" if comparable else ""
        print(f"| {title} | {cells} |{ratio}")


def lineitem(scale: float) -> pa.Table:
    """The table, generated once per scale factor and kept as a Parquet file."""
    kept = CACHE / f"lineitem-{scale:g}.parquet"
    if not kept.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            print(f"generating lineitem at scale factor {scale:g}", file=sys.stderr, flush=True)
            program = Path(sys.executable).parent / "tpchgen-cli"
            command = [str(program), "parquet", "-s", f"{scale:g}", "-T", "lineitem", "-o", folder]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            (Path(folder) / "lineitem.parquet").rename(kept)
    table = pq.read_table(kept).replace_schema_metadata()
    plain = {pa.string_view(): pa.string()}
    return table.cast(pa.schema([(f.name, plain.get(f.type, f.type)) for f in table.schema]))


def disk_usage(path: Path) -> int:
    """Bytes of a file or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sf", type=float, help="scale factor (default 1; 0.1 with --quick)")
    parser.add_argument("--quick", action="store_true", help="less data and fewer rounds")
    parser.add_argument("--rounds", type=int, help="rounds per task (default 5; 3 with --quick)")
    parser.add_argument("--engines", help="comma-separated names (default: all)")
    parser.add_argument("--folder", type=Path, help="where to write (default: a temporary folder)")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Run the benchmark."""
    given = arguments()
    if given.child:
        child(given.folder, *given.child)
        return
    scale = given.sf or (0.1 if given.quick else 1.0)
    table = lineitem(scale)
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        folder = given.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        every = engines(folder)
        names = given.engines.split(",") if given.engines else list(every)
        chosen = {name: every[name] for name in names}
        times = measure(chosen, table, given.rounds or (3 if given.quick else 5))
        sizes = {name: disk_usage(engine.path) for name, engine in chosen.items()}
        memory = {
            action: {name: peak_memory(folder, name, action) for name in names}
            for action in ("scan", "stream")
        }
    print(f"\nlineitem, scale factor {scale:g}: {table.num_rows:,} rows, {os.cpu_count()} cores\n")
    report(names, times, sizes, memory)


if __name__ == "__main__":
    main()
