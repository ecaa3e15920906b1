"""Lance datasets as Spark DataFrames, without a JAR.

The driver resolves *what* to read or write, the tasks move the bytes through the same native core
that `pennon` uses on one machine, and nothing but small picklable values travels between them.
Both classic sessions and Spark Connect work: no part of this package touches the JVM gateway.

Examples
--------
>>> import pennon.spark
>>> from pyspark.sql import SparkSession
>>> spark = SparkSession.builder.getOrCreate()  # doctest: +SKIP
>>> df = spark.range(1_000_000)  # doctest: +SKIP
>>> pennon.spark.write(df, "/data/numbers", mode="create")  # doctest: +SKIP
>>> pennon.spark.scan(spark, "/data/numbers", filter="id < 10").show()  # doctest: +SKIP
"""

from pennon.spark._require import require_pyspark

require_pyspark()

# After the check that names the missing extra:
from pennon.spark.errors import typed_errors  # noqa: E402
from pennon.spark.reader import scan  # noqa: E402
from pennon.spark.writer import WriteMode, write  # noqa: E402

__all__ = ["WriteMode", "scan", "typed_errors", "write"]
