"""One small Spark session for all tests."""

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session with two task slots, which tries each task up to four times."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Short jobs end before the second compiler pays.
    os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    session = (
        SparkSession.builder.master("local[2,4]")
        .appName("pennon tests")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "OFF")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.session.timeZone", "America/New_York")
        .getOrCreate()
    )
    yield session
    session.stop()
