"""The exact law of the noise in m_hat_t of Algorithm 2: variances term by term, expected norm, covariance over steps.

Each coordinate is Gaussian with mean 0, and within a step every node occurs once in each family, so the variance is the
sum of the squared coefficients times the nodes' variances. Two steps covary through the nodes that both use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from dpverify.papers.tran2022.noise import sr_noise_bounds as sr_noise
from dpverify.papers.tran2022.trees.compose_bounds import Node
from dpverify.symbolic.exact.numbers import ZERO, Exact, Value, to_exact, to_value

Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]


@dataclass(frozen=True)
class NodeVariances:
    """Variance of one coordinate of a node's noise."""

    g_first: Exact  # G nodes that end at or before step 2N: ``delta_G^2 sigma^2 V_<=2N``
    g_later: Exact  # the other G nodes: ``delta_G^2 sigma^2 V_>2N``
    delta: Exact  # delta nodes: ``delta_Delta^2 sigma^2 V_>2N``
    r: Exact  # r nodes: ``delta_r^2 sigma^2 V_>2N``

    @classmethod
    def of(cls, values: Mapping[str, Exact]) -> NodeVariances:
        """Read the box of Algorithm 2 (lines 9 to 13, 19): ``sigma`` and the constants that matter, the others 0."""
        constants = {name: to_value(values.get(name, Fraction(0))) for name in _BOX}
        noise = constants["sigma"] ** 2
        g, drift, r = (constants[name] ** 2 * noise for name in ("delta_G", "delta_Delta", "delta_r"))
        first = constants["V_first"]
        later = constants["V_later"]
        return cls(*(to_exact(v) for v in (g * first, g * later, drift * later, r * later)))

    def of_node(self, family: sr_noise.Family, node: Node, n_examples: int) -> Exact:
        """Variance of one node's noise, by its family and its last step."""
        if family == "G":
            return self.g_first if node[1] <= 2 * n_examples else self.g_later
        return self.delta if family == "Delta" else self.r


_BOX = ("sigma", "delta_G", "delta_Delta", "delta_r", "V_first", "V_later")


def variance_terms(
    t: int, n_examples: int, alpha: Fraction, gamma: Fraction, nodes: NodeVariances
) -> tuple[Exact, Exact, Exact, Exact, Exact]:
    """Variance of one coordinate of each of the five terms (``lemma-7-var-1`` to ``-5`` bound them); they add up."""
    prefix = prefix_term(t, n_examples, alpha, nodes)
    first_window = first_window_term(t, n_examples, alpha, gamma, nodes)
    of_g, of_delta = window_terms(t, n_examples, alpha, gamma, nodes)
    return prefix, first_window, of_g, of_delta, drift_term(t, alpha, nodes)


def prefix_term(t: int, n_examples: int, alpha: Fraction, nodes: NodeVariances) -> Exact:
    """Variance of term 1, ``alpha (1-alpha)^(t-r) G_[1,r]``; see :func:`variance_terms`."""
    sr_noise.check_parameters(t, n_examples, alpha)
    r = t % n_examples
    decays = sr_noise.power(to_value(1 - alpha), 2 * (t - r)) * sr_noise.squared_decays(1, r, alpha)
    return to_exact(to_value(alpha) ** 2 * decays * to_value(nodes.g_first))


def first_window_term(t: int, n_examples: int, alpha: Fraction, gamma: Fraction, nodes: NodeVariances) -> Exact:
    """Variance of term 2, ``alpha c_q G_[r+1,r+N]``; see :func:`variance_terms`."""
    sr_noise.check_parameters(t, n_examples, alpha, gamma)
    q, r = divmod(t, n_examples)
    if q == 0:
        return Fraction(0)
    weight = to_value(alpha) * sr_noise.window_weights(q, n_examples, alpha, gamma)[-1]
    return to_exact(weight**2 * sr_noise.squared_decays(r + 1, r + n_examples, alpha) * to_value(nodes.g_first))


def window_terms(
    t: int, n_examples: int, alpha: Fraction, gamma: Fraction, nodes: NodeVariances
) -> tuple[Exact, Exact]:
    """Variances of terms 3 and 4, the windows' G and Delta; see :func:`variance_terms`."""
    sr_noise.check_parameters(t, n_examples, alpha, gamma)
    q = t // n_examples
    first = to_value(nodes.g_first)
    later = to_value(nodes.g_later)
    of_g: Value = ZERO
    of_delta: Value = ZERO
    for i, weight in enumerate(sr_noise.window_weights(q - 1, n_examples, alpha, gamma), start=1):
        end = t - (i - 1) * n_examples
        window = sr_noise.squared_decays(end - n_examples + 1, end, alpha)
        early = sr_noise.squared_decays(end - n_examples + 1, end, alpha, until=2 * n_examples) if i == q - 1 else ZERO
        of_g = sr_noise.shortened(of_g + weight**2 * (early * first + (window - early) * later))
        of_delta = sr_noise.shortened(of_delta + weight**2 * window)
    mix = to_value((alpha * gamma) ** 2)
    keep = to_value((alpha * (1 - gamma)) ** 2)
    return to_exact(sr_noise.shortened(mix * of_g)), to_exact(
        sr_noise.shortened(keep * of_delta * to_value(nodes.delta))
    )


def drift_term(t: int, alpha: Fraction, nodes: NodeVariances) -> Exact:
    """Variance of term 5, ``alpha r_[1,t]``; see :func:`variance_terms`."""
    sr_noise.check_parameters(t, 1, alpha)
    return to_exact(to_value(alpha) ** 2 * sr_noise.squared_decays(1, t, alpha) * to_value(nodes.r))


def noise_variance(t: int, n_examples: int, alpha: Fraction, gamma: Fraction, nodes: NodeVariances) -> Exact:
    """Variance of one coordinate of the noise in m_hat_t: the sum of :func:`variance_terms`."""
    total = sum((to_value(v) for v in variance_terms(t, n_examples, alpha, gamma, nodes)), ZERO)
    return to_exact(total)


def covariance(s: int, t: int, n_examples: int, alpha: Fraction, gamma: Fraction, nodes: NodeVariances) -> Exact:
    """Covariance of one coordinate of the noises in m_hat_s and m_hat_t, through the nodes that both steps use."""
    at_s = sr_noise.noise_coefficients(s, n_examples, alpha, gamma)
    at_t = sr_noise.noise_coefficients(t, n_examples, alpha, gamma)
    total: Value = ZERO
    for family, mine in at_s.items():
        for node in mine.keys() & at_t[family].keys():
            product = to_value(mine[node]) * to_value(at_t[family][node])
            total = sr_noise.shortened(total + product * to_value(nodes.of_node(family, node, n_examples)))
    return to_exact(total)


def covariance_matrix(steps: int, n_examples: int, alpha: Fraction, gamma: Fraction, nodes: NodeVariances) -> Matrix:
    """Covariance of one coordinate of m_hat_1 .. m_hat_T's noise, (T, T); singular where nodes have no noise."""
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got steps={steps}.")
    columns: dict[tuple[sr_noise.Family, Node], int] = {}
    entries: list[tuple[int, int, float]] = []
    for t in range(1, steps + 1):
        for family, coefficients in sr_noise.noise_coefficients(t, n_examples, alpha, gamma).items():
            for node, coefficient in coefficients.items():
                place = columns.setdefault((family, node), len(columns))
                entries.append((t - 1, place, float(coefficient)))
    factor = np.zeros((steps, len(columns)))
    rows, places, values = (np.array(part) for part in zip(*entries, strict=True))
    factor[rows, places] = values
    variances = [float(nodes.of_node(family, node, n_examples)) for family, node in columns]
    return np.asarray((factor * np.array(variances)) @ factor.T)
