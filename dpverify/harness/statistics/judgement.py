"""What a judge of simulations is, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dpverify.harness.context import Context
from dpverify.harness.statistics.effects import Effect
from dpverify.ledger.results import Number

Sample = NDArray[Any]
Change = Callable[[Context, Sample, np.random.Generator], Sample]


@dataclass(frozen=True)
class PlantedFault:
    """A fault of exactly the declared size, put into a sample of the check's own."""

    name: str  # short name: "scale"
    fault: str  # the fault in words
    change: Change  # turns a sample into a faulty one


@dataclass(frozen=True)
class Judgement:
    """What a judge says of a sample."""

    # "agrees"; "disagrees" where the kernel does not follow the exact law, which is no verdict on the paper; "refutes"
    # where a confidence limit lies beyond the claim
    says: Literal["agrees", "disagrees", "refutes"]
    statistic: str  # estimate, interval and bound, in words and numbers
    lhs: Number | None = None  # confidence limit and bound, where the judge refutes a claim
    rhs: Number | None = None
    figures: dict[str, dict[str, list[float]]] = field(default_factory=dict)  # named curves, each of named columns


class Judge(Protocol):
    """Turns samples into sums, which are joined with ``+`` to save memory, and sums into a judgement."""

    def collect(self, context: Context, sample: Any) -> Any:
        """Sum up the sample of one block: a Sample, or, if the check's simulation gives them, Pieces of one."""
        ...

    def decide(self, context: Context, statistics: Any, alpha: float) -> Judgement:
        """Judge the sums of all blocks at level alpha."""
        ...

    def planted(self, context: Context, effect: Effect) -> Sequence[PlantedFault]:
        """Faults of exactly the declared sizes, at least one."""
        ...
