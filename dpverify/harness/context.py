"""The input of a check: the statement, the budget, and reproducible random numbers."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import msgspec
import numpy as np

from dpverify.harness.budget import Budget
from dpverify.harness.recorded_proof import CertificateFile, RecordedProof
from dpverify.ledger.results import CheckResult
from dpverify.ledger.statements import Statement

Point = Mapping[str, Fraction]  # values of a statement's symbols; an integer is a Fraction with denominator 1


def as_point(values: Mapping[str, int | Fraction | str]) -> dict[str, Fraction]:
    """Convert integers, Fractions and text such as "3/7" or "0.1" to exact numbers. Floats are refused."""
    for name, value in values.items():
        if isinstance(value, float):
            raise TypeError(f"{name} must be an int, a Fraction or text, got the float {name}={value!r}.")
    return {name: Fraction(values[name]) for name in sorted(values)}


@dataclass(frozen=True)
class Context:
    """The input of a check."""

    statement: Statement  # the statement under test: one claim, one choice of its readings, printed or amended
    budget: Budget  # how much work the run may do
    seed: int  # seed of the run, at least 0
    check: str = ""  # name of the check
    point: Point = field(default_factory=dict)  # parameters of a simulation
    share: float = math.inf  # core seconds that this check may cost; infinite where everything fits
    proof: RecordedProof | None = None  # of a derivation: what need not be derived again
    certificate: CertificateFile | None = None  # of a derivation: one that was written of it as it is today
    recorded: CheckResult | None = None  # of another check: what can be looked at again

    @cached_property
    def taken(self) -> tuple[str, ...]:
        """Hashes of what there is of a recorded run: another one may give another result."""
        contents = [
            msgspec.json.encode(record) for record in (self.proof and self.proof.result, self.recorded) if record
        ]
        path = None if self.proof is None else self.proof.certificate.path
        contents += [path.read_bytes()] if path is not None and path.is_file() else []
        return tuple(hashlib.sha256(content).hexdigest() for content in contents)

    def entropy(self, stream: str = "") -> list[int]:
        """Words that seed a stream: the run's seed, then a hash of the claim, the check and the stream."""
        text = "\0".join((self.statement.key, self.check, stream))
        digest = hashlib.sha256(text.encode()).digest()
        return [self.seed, *(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 32, 4))]

    def rng(self, block: int, stream: str = "") -> np.random.Generator:
        """Random numbers of one block, which no other claim and no worker can change; a control has its own."""
        return np.random.default_rng(np.random.SeedSequence([*self.entropy(stream), block]))
