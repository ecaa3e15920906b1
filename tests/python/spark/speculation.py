"""Write 1,000 numbers on two hosts, with one attempt that waits until it has a rival.

    python speculation.py DATASET

Spark never runs two attempts of one task on the same host: the two workers of this little cluster
pretend to be on different ones. The slow attempt has written all of its files, and goes on when
the dataset's folder shows that another attempt has written them again.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyspark
from pyspark import TaskContext
from pyspark.sql import SparkSession

import pennon
import pennon.spark
from pennon.spark import writer

Reporter: TypeAlias = Callable[[Iterable[pennon.FragmentMetadata]], pa.RecordBatch]

PARTITIONS = 4
ALL_FILES = 25
"""Five files of 50 rows for each partition, and five that were written twice."""

report: Reporter = writer._report


def wait_for_files(folder: Path) -> None:
    """Wait until all files are there, for at most a minute."""
    for _ in range(600):
        if sum(1 for _ in folder.iterdir()) >= ALL_FILES:
            return
        time.sleep(0.1)


def with_a_rival(uri: str) -> Reporter:
    """A report that the first attempt of the last partition makes when it has a rival."""

    def waiting(fragments: Iterable[pennon.FragmentMetadata]) -> pa.RecordBatch:
        context = TaskContext.get()
        if context and context.partitionId() == PARTITIONS - 1 and context.attemptNumber() == 0:
            wait_for_files(Path(uri, "data"))
        return report(fragments)

    return waiting


@contextmanager
def running(kind: str, *arguments: str) -> Iterator[None]:
    """A master or a worker of Spark, for as long as the block runs."""
    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    role = f"org.apache.spark.deploy.{kind.lower()}.{kind}"
    process = subprocess.Popen(
        [program, role, "--webui-port", "0", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int) -> None:
    """Wait until somebody listens: Spark tries again only after many seconds."""
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)


def main(uri: str) -> None:
    """Start the cluster and write."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as cluster:
        cluster.enter_context(running("Master", "--host", "127.0.0.1", "--port", str(port)))
        wait_for_port(port)
        for host in ("127.0.0.2", "127.0.0.3"):
            cluster.enter_context(
                running("Worker", "--host", host, "--cores", "1", "--memory", "512m", master)
            )
        spark = (
            SparkSession.builder.master(master)
            .config("spark.ui.enabled", "false")
            .config("spark.log.level", "OFF")
            .config("spark.executor.memory", "512m")
            .config("spark.speculation", "true")
            .config("spark.speculation.efficiency.enabled", "false")
            .config("spark.speculation.interval", "100ms")
            .config("spark.speculation.multiplier", "1.1")
            .config("spark.speculation.quantile", "0.5")
            .getOrCreate()
        )
        writer._report = with_a_rival(uri)  # type: ignore[assignment]
        pennon.spark.write(spark.range(0, 1000, 1, PARTITIONS), uri, max_rows_per_file=50)
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
