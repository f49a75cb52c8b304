"""Compare optimizers at equal privacy on the same data with several seeds."""

from dpverify.compare.command import run_compare
from dpverify.compare.records import CompareRequest, CompareResult
from dpverify.compare.run import compare

__all__ = ["CompareRequest", "CompareResult", "compare", "run_compare"]
