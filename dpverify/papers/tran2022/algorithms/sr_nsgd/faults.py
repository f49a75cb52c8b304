"""Planted faults in Algorithms 2 and 4, for checks that must tell them from the good kernels.

A fault changes what the good kernels are given: the noise of nodes, the nodes, the constants of the recursion, or the
anchors. So it stands in for the kernels in each of three roles, and does nothing in a role that it does not concern.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Intervals, Matrix, Tape, Vector
from dpverify.papers.tran2022.algorithms.reconstruct.nodes import Nodes, check_nodes, node_intervals
from dpverify.papers.tran2022.algorithms.reconstruct.stream import (
    DELTA,
    Constants,
    G,
    R,
    new_constants,
    reconstruct_with,
)
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import noise_with, tape_layout, tape_rows
from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.sr_nsgd.replay import anchor_rows
from dpverify.papers.tran2022.algorithms.sr_nsgd.scales import G_FIRST, G_LATER, OF_DELTA, OF_R

Family: TypeAlias = Literal["g", "delta", "r"]

_PLACE = {"g": G, "delta": DELTA, "r": R}
_DEVIATIONS = {"g-first": [G_FIRST], "g-later": [G_LATER], "g": [G_FIRST, G_LATER], "delta": [OF_DELTA], "r": [OF_R]}


@dataclass(frozen=True)
class SrFault:
    """A wrong Algorithm 2 or 4."""

    name: str  # short name, fit for an id
    text: str  # what is wrong with it, in a few words
    change_deviations: Callable[[Vector], Vector] | None = None
    change_constants: Callable[[Constants, int], Constants] | None = None  # ``(constants, examples) -> constants``
    change_anchors: Callable[[Intervals, int], Intervals] | None = None  # ``(anchors, examples) -> anchors``
    missing: tuple[Family, int, int] | None = None  # family, first and last step of a node that is left out

    def noise(self, tape: Tape, parameters: SrParameters, examples: int) -> Matrix:
        """Give the wrong m^_t - m_t, in place of ``sr_nsgd_noise.noise_from_tape``; linear in the tape as well.

        Row t - 1 is the noise in m^_t. Shapes: ``tape`` (n, d).
        """
        tape = check.array(tape_rows(examples, parameters.steps), None, tape=tape)
        if self.missing is not None:
            family, y, z = self.missing
            found = (tape_layout(examples, parameters.steps) == (_PLACE[family], y, z)).all(axis=1)
            self._check_found(bool(found.any()))
            tape = np.where(found[:, None], 0.0, tape)
        deviations = parameters.deviations(examples)
        if self.change_deviations is not None:
            deviations = self.change_deviations(deviations)
        constants = self._constants(examples, parameters.alpha, parameters.gamma)
        return noise_with(tape, generator(0), deviations, constants, parameters.steps, examples)

    def reconstruct(self, nodes: Nodes, *, examples: int, alpha: float, gamma: float) -> Matrix:
        """Give the wrong m^_1..m^_T, in place of ``reconstruct.reconstruct``. Row t - 1 is m^_t."""
        nodes, steps, d = check_nodes(nodes)
        N, alpha, gamma = check.whole(1, examples=examples), check.weight(alpha=alpha), check.proportion(gamma=gamma)
        if self.missing is not None:
            family, y, z = self.missing
            found = (node_intervals(steps) == (y, z)).all(axis=1)
            self._check_found(bool(found.any()))
            nodes = nodes._replace(**{family: np.where(found[:, None], 0.0, getattr(nodes, family))})
        return reconstruct_with(nodes, steps, d, N, self._constants(N, alpha, gamma))[0]

    def anchors(self, examples: int, steps: int) -> Intervals:
        """Give the wrong anchors, in place of ``sr_nsgd_replay.anchor_rows``, for the argument of a replay.

        Shapes: returns (T, 2).
        """
        good = anchor_rows(examples, steps)
        return good if self.change_anchors is None else self.change_anchors(good, examples)

    def _constants(self, examples: int, alpha: float, gamma: float) -> Constants:
        good = new_constants(examples, alpha, gamma)
        return good if self.change_constants is None else self.change_constants(good, examples)

    def _check_found(self, found: bool) -> None:
        if not found:
            raise check.ArgumentError("missing", self.missing, "must be a node that this run reads")


def family_scaled(family: Literal["g", "g-first", "g-later", "delta", "r"], factor: float = 1.02) -> SrFault:
    """Noise with a wrong deviation in one family of nodes."""
    if family not in _DEVIATIONS:
        raise check.ArgumentError("family", family, f"must be one of {', '.join(_DEVIATIONS)}")
    change = partial(_scale, places=tuple(_DEVIATIONS[family]), factor=factor)
    return SrFault(f"{family}-scaled-{factor:g}", f"deviation of {family} nodes times {factor:g}", change)


def node_missing(family: Family, y: int, z: int) -> SrFault:
    """One node left out wherever it is read."""
    if family not in _PLACE:
        raise check.ArgumentError("family", family, f"must be one of {', '.join(_PLACE)}")
    return SrFault(f"{family}-missing-{y}-{z}", f"the {family} node [{y}, {z}] is left out", missing=(family, y, z))


def coefficient_off(power_of: Literal["decay", "gamma"] = "decay") -> SrFault:
    """c_i with one power too many.

    ``power_of``: ``c_i = sum_{j<i} (1-gamma)^j (1-alpha)^{(i-j)N}`` instead of ``... (1-alpha)^{(i-1-j)N}``, or
    ``sum_{j<i} (1-gamma)^{j+1} (1-alpha)^{(i-1-j)N}``. The fault; the weight of the first whole window, which is no
    c_i, stays right.
    """
    if power_of not in ("decay", "gamma"):
        raise check.ArgumentError("power_of", power_of, "must be decay or gamma")
    what = "(1 - alpha)^N" if power_of == "decay" else "1 - gamma"
    change = partial(_coefficient, power_of=power_of)
    return SrFault(f"coefficient-{power_of}", f"c_i has one power of {what} too many", change_constants=change)


def decay_off(of: Literal["sums", "windows", "r"] = "sums", steps: int = 1) -> SrFault:
    """A decay whose exponent is off.

    ``of``: ``(1-alpha)^(N + steps)`` from G_{t-N} to G_t; ``(1-alpha)^(n + steps)`` wherever parts of a window are
    joined at a distance n; or ``(1-alpha)^(lowbit(t) + steps)`` in the past of r^_t.
    """
    if of not in ("sums", "windows", "r"):
        raise check.ArgumentError("of", of, "must be one of sums, windows, r")
    change = partial(_decay, of=of, steps=check.whole(0 if of == "windows" else -1, steps=steps))
    return SrFault(f"decay{steps:+d}-{of}", f"the decay of {of} is off by {steps:+d}", change_constants=change)


def wrong_anchor(back: int = 2) -> SrFault:
    """Delta nodes that take the gradient at the anchor of a wrong epoch away.

    ``back``: how many epochs before the step's own, at least 0; 1 would be right. Before the first epoch it is w_1.
    """
    if check.whole(0, back=back) == 1:
        raise check.ArgumentError("back", back, "must not be 1, which is right")
    text = f"Delta is taken to the anchor {back} epochs before"
    return SrFault(f"anchor-{back}-back", text, change_anchors=partial(_anchor, back=back))


def _scale(deviations: Vector, *, places: tuple[int, ...], factor: float) -> Vector:
    changed = deviations.copy()
    changed[list(places)] *= factor
    return changed


def _coefficient(good: Constants, examples: int, *, power_of: str) -> Constants:
    # A window enters g_t with (1 - gamma) D_t + gamma W_t, and all of its later weight with it: c_i, times one factor.
    weights = good.weights.copy()
    weights[1:3] *= good.powers[examples] if power_of == "decay" else weights[3]
    return good._replace(weights=weights)


def _decay(good: Constants, examples: int, *, of: str, steps: int) -> Constants:
    beta = 1.0 - good.weights[0]
    if of == "windows":
        return good._replace(powers=beta ** np.arange(steps, examples + 1 + steps, dtype=float))
    if of == "r":
        return good._replace(decay=beta ** (2.0 ** np.arange(len(good.decay)) + steps))
    weights = good.weights.copy()
    weights[4] = beta ** float(examples + steps)
    return good._replace(weights=weights)


def _anchor(good: Intervals, examples: int, *, back: int) -> Intervals:
    changed = good.copy()
    later = good[:, 1] >= 0
    changed[later, 1] = np.maximum(good[later, 0] - back * examples, 0)
    return changed
