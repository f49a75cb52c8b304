"""All algorithms: those of dpverify and those that other packages register."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Any, Final

from dpverify.algorithms.algorithm import Algorithm
from dpverify.algorithms.baselines import DP_AGD, DP_GD, RRPSGD, STORM
from dpverify.algorithms.dp_srm import DDP_SRM, DP_SRM
from dpverify.algorithms.dpageem import FAMILY
from dpverify.algorithms.nsgd import DP_NSGD, SR_NSGD
from dpverify.foreign import ForeignError, foreign_code
from dpverify.kernels import check
from dpverify.targets import TargetError, load_object

GROUP: Final = "dpverify.algorithms"
"""Each entry point of this group names an :class:`Algorithm`."""

UNUSABLE: Final[dict[str, str]] = {}
"""Entry points that cannot be loaded, by name, with the reason."""


def all_algorithms() -> Iterator[Algorithm[Any]]:
    """Yield each algorithm. Entry points that cannot be loaded are recorded in ``UNUSABLE``."""
    yield from (
        DP_NSGD,
        SR_NSGD,
        DP_SRM,
        DDP_SRM,
        *FAMILY,
        DP_GD,
        RRPSGD,
        DP_AGD,
        STORM,
    )
    for entry in entry_points(group=GROUP):
        try:
            with foreign_code(entry.value):
                loaded = entry.load()
        except ForeignError as error:
            UNUSABLE[entry.name] = error.reason
            continue
        if isinstance(loaded, Algorithm):
            yield loaded
        else:
            UNUSABLE[entry.name] = f"{entry.value} is no Algorithm"


ALGORITHMS: Final[dict[str, Algorithm[Any]]] = {
    algorithm.name: algorithm for algorithm in all_algorithms()
}
"""All algorithms by name; the first one is the default of the command line."""


def algorithm_named(name: str) -> Algorithm[Any]:
    """Return a registered algorithm by name, or the object at ``module:NAME`` or ``file.py:NAME``.

    Raises
    ------
    ArgumentError
        If there is no such algorithm, or it cannot be loaded.

    Examples
    --------
    >>> algorithm_named("dp-srm").settings.__name__
    'SrmSettings'
    """
    if ":" in name:
        try:
            loaded = load_object(name)[0]
        except TargetError as error:
            raise check.ArgumentError("algorithm", name, str(error)) from error
        if not isinstance(loaded, Algorithm):
            raise check.ArgumentError(
                "algorithm", name, "must be an Algorithm of dpverify.algorithms"
            )
        return loaded
    if name in UNUSABLE:
        raise check.ArgumentError(
            "algorithm", name, f"cannot be loaded: {UNUSABLE[name]}"
        )
    if name not in ALGORITHMS:
        raise check.ArgumentError(
            "algorithm", name, f"must be one of {', '.join(ALGORITHMS)}"
        )
    return ALGORITHMS[name]
