"""Planted faults in Algorithms 2 and 4, which the checks must detect.

A fault changes an input of the correct kernels: the deviations of nodes, their tape, or the constants of the recursion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Matrix, Tape, Vector
from dpverify.papers.tran2022.algorithms.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.reconstruction.stream import (
    DELTA,
    G,
    R,
    StreamConstants,
    new_constants,
)
from dpverify.papers.tran2022.algorithms.scales import (
    DELTA_INDEX,
    G_FIRST,
    G_LATER,
    R_INDEX,
)
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import (
    noise_with,
    tape_layout,
    tape_rows,
)

Family: TypeAlias = Literal["g", "delta", "r"]

_PLACE = {"g": G, "delta": DELTA, "r": R}
_DEVIATIONS = {
    "g-first": [G_FIRST],
    "g-later": [G_LATER],
    "g": [G_FIRST, G_LATER],
    "delta": [DELTA_INDEX],
    "r": [R_INDEX],
}


@dataclass(frozen=True)
class SrFault:
    """A wrong Algorithm 2 or 4."""

    name: str  # short name, usable in an id
    text: str  # short description of the fault
    change_deviations: Callable[[Vector], Vector] | None = None
    change_constants: Callable[[StreamConstants, int], StreamConstants] | None = (
        None  # ``(constants, examples) -> constants``
    )
    # family, first and last step of a node that gets no noise
    missing: tuple[Family, int, int] | None = None

    def noise(self, tape: Tape, parameters: SrParameters, examples: int) -> Matrix:
        """Return the wrong m^_t - m_t, in place of ``sr_nsgd.noise.noise_from_tape``; row t - 1 is step t."""
        tape = check.array(tape_rows(examples, parameters.steps), None, tape=tape)
        if self.missing is not None:
            family, y, z = self.missing
            mask = (
                tape_layout(examples, parameters.steps) == (_PLACE[family], y, z)
            ).all(axis=1)
            if not mask.any():
                raise check.ArgumentError(
                    "missing", self.missing, "must be a node that this run reads"
                )
            tape = np.where(mask[:, None], 0.0, tape)
        deviations = parameters.deviations(examples)
        if self.change_deviations is not None:
            deviations = self.change_deviations(deviations)
        constants = new_constants(examples, parameters.alpha, parameters.gamma)
        if self.change_constants is not None:
            constants = self.change_constants(constants, examples)
        return noise_with(
            tape, generator(0), deviations, constants, parameters.steps, examples
        )


def family_scaled(
    family: Literal["g", "g-first", "g-later", "delta", "r"], factor: float = 1.02
) -> SrFault:
    """Return the fault that multiplies the deviation of one family of nodes by ``factor``."""
    if family not in _DEVIATIONS:
        raise check.ArgumentError(
            "family", family, f"must be one of {', '.join(_DEVIATIONS)}"
        )
    change = partial(_scale, places=tuple(_DEVIATIONS[family]), factor=factor)
    return SrFault(
        f"{family}-scaled-{factor:g}",
        f"deviation of {family} nodes times {factor:g}",
        change,
    )


def node_missing(family: Family, y: int, z: int) -> SrFault:
    """Return the fault that omits the noise of one node."""
    if family not in _PLACE:
        raise check.ArgumentError(
            "family", family, f"must be one of {', '.join(_PLACE)}"
        )
    return SrFault(
        f"{family}-missing-{y}-{z}",
        f"the {family} node [{y}, {z}] is left out",
        missing=(family, y, z),
    )


def coefficient_off(power_of: Literal["decay", "gamma"] = "decay") -> SrFault:
    """Return the fault in which c_i has one power too many.

    The right coefficient is ``c_i = sum_{j<i} (1-gamma)^j (1-alpha)^{(i-1-j)N}``. With ``power_of`` "decay" it becomes
    ``sum_{j<i} (1-gamma)^j (1-alpha)^{(i-j)N}``, with "gamma" ``sum_{j<i} (1-gamma)^{j+1} (1-alpha)^{(i-1-j)N}``. The
    weight of the first whole window, which is not a c_i, stays right.
    """
    if power_of not in ("decay", "gamma"):
        raise check.ArgumentError("power_of", power_of, "must be decay or gamma")
    what = "(1 - alpha)^N" if power_of == "decay" else "1 - gamma"
    change = partial(_coefficient, power_of=power_of)
    return SrFault(
        f"coefficient-{power_of}",
        f"c_i has one power of {what} too many",
        change_constants=change,
    )


def decay_off(of: Literal["sums", "windows", "r"] = "sums", steps: int = 1) -> SrFault:
    """Return the fault in which the exponent of a decay is off by ``steps``.

    The wrong decay is ``(1-alpha)^(N + steps)`` from G_{t-N} to G_t if ``of`` is "sums"; ``(1-alpha)^(n + steps)``
    wherever parts of a window at a distance n are joined if ``of`` is "windows"; and ``(1-alpha)^(lowbit(t) + steps)``
    in the recursion of r^_t if ``of`` is "r".
    """
    if of not in ("sums", "windows", "r"):
        raise check.ArgumentError("of", of, "must be one of sums, windows, r")
    change = partial(
        _decay, of=of, steps=check.whole(0 if of == "windows" else -1, steps=steps)
    )
    return SrFault(
        f"decay{steps:+d}-{of}",
        f"the decay of {of} is off by {steps:+d}",
        change_constants=change,
    )


def _scale(deviations: Vector, *, places: tuple[int, ...], factor: float) -> Vector:
    changed = deviations.copy()
    changed[list(places)] *= factor
    return changed


def _coefficient(
    good: StreamConstants, examples: int, *, power_of: str
) -> StreamConstants:
    # c_i is the weight in later sums of the term (1 - gamma) D_t + gamma W_t of g_t, so
    # a factor on this term is a factor on c_i.
    weights = good.weights.copy()
    weights[1:3] *= good.powers[examples] if power_of == "decay" else weights[3]
    return good._replace(weights=weights)


def _decay(
    good: StreamConstants, examples: int, *, of: str, steps: int
) -> StreamConstants:
    beta = 1.0 - good.weights[0]
    if of == "windows":
        return good._replace(
            powers=beta ** np.arange(steps, examples + 1 + steps, dtype=float)
        )
    if of == "r":
        return good._replace(decay=beta ** (2.0 ** np.arange(len(good.decay)) + steps))
    weights = good.weights.copy()
    weights[4] = beta ** float(examples + steps)
    return good._replace(weights=weights)
