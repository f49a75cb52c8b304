"""A toy problem: one run is the share of heads in fifty tosses of a coin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpverify.harness import Point
from dpverify.harness.simulation.runs import OptimizerFault
from dpverify.ledger.statements import Statement


@dataclass(frozen=True)
class Coin:
    """Heads with a chance that a fault raises."""

    name: str
    chance: float

    @property
    def words(self) -> str:
        return f"{self.name}, heads with the chance {self.chance:g}"

    @property
    def all_words(self) -> str:
        return f"{self.words}, tossed fifty times"

    @property
    def point(self) -> Point:
        return {"x": Fraction(self.chance)}


@dataclass(frozen=True)
class Coins:
    """Coins of which none comes up heads more often than ``most``."""

    most: float
    parameters: int = 1

    def case(self, place: Sequence[float]) -> Coin:
        return Coin("found", round(self.most * place[0], 3))


def toss(statement: Statement, case: Coin, seed: int, fault: OptimizerFault) -> float:
    chance = 0.95 if fault.direction < 0 else case.chance
    return float((np.random.default_rng(seed).random(50) < chance).mean())
