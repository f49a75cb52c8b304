"""Standard deviations of the node noise of Algorithms 1 and 2: as the algorithms print it, and as the proofs need it.

Algorithm 1: the printed V, and the deviation 4 alpha G sigma sqrt(V).

Algorithm 2: a G node has deviation delta_G sigma sqrt(V_first) if it ends at or before step 2N, and delta_G sigma
sqrt(V_later) if it ends later. Delta nodes have delta_Delta sigma sqrt(V_later), and r nodes delta_r sigma
sqrt(V_later).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.check import MOST_STEPS
from dpverify.kernels.typing import Vector


def levels(steps: int) -> int:
    """Return ``floor(log2(T)) + 1``, the number of levels (lengths 1, 2, 4, ...) of the tree that the steps 1..T use.

    Algorithm 1's loop ``for b = 0, ..., R - 1`` draws every node that the algorithm uses if and only if its depth R is
    at least this number.
    """
    return check.whole(1, MOST_STEPS - 1, steps=steps).bit_length()


def printed_v(examples: int, steps: int, depth: int) -> Fraction:
    """Return V of Algorithm 1, exactly as printed.

    ``(min(R, floor(log2 N)) + 1) T/N + sum of floor(T / 2^j) over j = floor(log2 N) +
    1, ..., R``.

    Source: Algorithm 1, third line of the box. V is meant as a number of nodes, which should be an integer. The printed
    T/N is an integer only if N divides T.
    """
    examples = check.whole(1, examples=examples)
    steps = check.whole(1, MOST_STEPS - 1, steps=steps)
    depth = check.whole(0, 62, depth=depth)
    log_n = examples.bit_length() - 1
    return (min(depth, log_n) + 1) * Fraction(steps, examples) + sum(
        steps >> j for j in range(log_n + 1, depth + 1)
    )


def node_deviation(
    alpha: float, lipschitz: float, sigma: float, v: float | Fraction
) -> float:
    """Return a node's standard deviation in each coordinate, ``4 alpha G sigma sqrt(V)`` (Algorithm 1)."""
    v = check.positive(v=v)
    return (
        4.0
        * check.weight(alpha=alpha)
        * check.positive(lipschitz=lipschitz)
        * check.not_negative(sigma=sigma)
        * math.sqrt(v)
    )


# Indices into an array of deviations
G_FIRST = 0
G_LATER = 1
DELTA_INDEX = 2
R_INDEX = 3


@dataclass(frozen=True)
class Scales:
    """The five constants that scale the noise of Algorithm 2.

    Attributes
    ----------
    delta_g, delta_delta, delta_r : float
        delta_G, delta_Delta, delta_r: the assumed sensitivities of G, Delta and r
        nodes, in units of the gradient; at least 0.
    v_first, v_later : float
        V_<=2N and V_>2N: the assumed numbers of nodes that one example affects; at
        least 0.

    Raises
    ------
    ArgumentError
        If a constant is negative or not finite.
    """

    delta_g: float
    delta_delta: float
    delta_r: float
    v_first: float
    v_later: float

    def __post_init__(self) -> None:
        for field in fields(self):
            check.not_negative(**{field.name: getattr(self, field.name)})

    def deviations(self, sigma: float) -> Vector:
        """Return the standard deviations of nodes in each coordinate, shape (4,), for a noise multiplier of at least 0.

        The entries are for G nodes that end by step 2N, later G nodes, Delta nodes and r nodes, in units of the
        gradient.
        """
        sigma = check.not_negative(sigma=sigma)
        first = sigma * math.sqrt(self.v_first)
        later = sigma * math.sqrt(self.v_later)
        return np.array(
            [
                self.delta_g * first,
                self.delta_g * later,
                self.delta_delta * later,
                self.delta_r * later,
            ]
        )


def printed_scales(
    examples: int, steps: int, *, eta: float, lipschitz: float
) -> Scales:
    """Return the constants that Algorithm 2 prints.

    Parameters
    ----------
    examples, steps : int
        N and T, at least 1.
    eta : float
        Length of every step, at least 0.
    lipschitz : float
        G, in units of the gradient, above 0.

    Returns
    -------
    Scales
        ``delta_G = 4G``, ``delta_Delta = delta_r = 2 eta N``, ``V_<=2N = 3 log2 N``,
        ``V_>2N = 4 (T/N) log2 N``.

    Raises
    ------
    ArgumentError
        If a number is out of range.

    Notes
    -----
    Source: Algorithm 2, lines 1 and 2. 2 eta N is a length in the space of w, not a change of a gradient: the
    smoothness L is missing. At N = 1 both V are 0, so there is no noise.
    """
    N = check.whole(1, examples=examples)
    steps = check.whole(1, MOST_STEPS - 1, steps=steps)
    drift = 2.0 * check.not_negative(eta=eta) * N
    first, later = 3.0 * math.log2(N), 4.0 * (steps / N) * math.log2(N)
    return Scales(4.0 * check.positive(lipschitz=lipschitz), drift, drift, first, later)


def proof_scales(
    examples: int, steps: int, *, eta: float, lipschitz: float, smoothness: float
) -> Scales:
    """Return the constants that the proofs of Theorem 8 and Lemma 7 use.

    Parameters
    ----------
    examples, steps, eta, lipschitz
        As in :func:`printed_scales`.
    smoothness : float
        L, in units of the gradient per length, at least 0.

    Returns
    -------
    Scales
        As :func:`printed_scales`, but ``delta_Delta = delta_r = 2 eta N L``.

    Raises
    ------
    ArgumentError
        If a number is out of range.

    Notes
    -----
    Source: appendix E.1 ("has sensitivity at most 2 eta N L") and E.2, which take both V from Algorithm 2. Whether the
    sensitivities and counts are upper bounds is tested by the checks of the claims, not here.
    """
    printed = printed_scales(examples, steps, eta=eta, lipschitz=lipschitz)
    drift = printed.delta_delta * check.not_negative(smoothness=smoothness)
    return Scales(printed.delta_g, drift, drift, printed.v_first, printed.v_later)
