"""The one check that PySpark is there, with the command that brings it."""

from importlib.util import find_spec


def require_pyspark() -> None:
    """Raise an `ImportError` that names the remedy when PySpark is not installed."""
    if find_spec("pyspark") is None:
        raise ImportError("pennon.spark needs PySpark 3.5 or newer: pip install 'pennon[spark]'")
