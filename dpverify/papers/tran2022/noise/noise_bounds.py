"""The exact laws of the noise of Algorithms 1 and 2: coefficients, variances, expected norms, covariances.

In Algorithm 1 (Lemma 12), NOISE_t is Gaussian with independent coordinates, each of
variance ``(4*alpha*G*sigma)**2 * V * F(t)``, where F(t) sums the squared decays of
COMPOSE(1, t). So the expected norm has a closed form and needs no simulation.

In Algorithm 2, Algorithm 4 and equation 8 determine which noises m_hat_t contains, and
with which coefficients.

With t = qN + r, beta = 1 - alpha and c_i = sum_{j<i} (1-gamma)^j beta^{(i-1-j)N}, the
noise of m_hat_t is alpha times

    1.  beta^{t-r}    sum over COMPOSE(1, r)            of beta^{r-z}   zeta^G_[y,z]
    2.  c_q           sum over COMPOSE(r+1, r+N)        of beta^{r+N-z} zeta^G_[y,z],           where q >= 1
    3.  c_i gamma     sum over COMPOSE(t-iN+1, t-iN+N)  of beta^{t-iN+N-z} zeta^G_[y,z],        i = 1 .. q - 1
    4.  c_i (1-gamma) sum over the same nodes           of beta^{t-iN+N-z} zeta^Delta_[y,z],    i = 1 .. q - 1
    5.                sum over COMPOSE(1, t)            of beta^{t-z}   zeta^r_[y,z].

The printed sum over i in term 2 is c_q. The intervals of terms 1 to 3 are disjoint and
fill [1, t], those of term 4 fill [r+N+1, t]. So no node occurs twice in a step, and
variances add. Values are fractions, or balls where fractions would be too long. No
kernel is imported.

Each coordinate is Gaussian with mean 0, and within a step every node occurs once in each family. So the variance is the
sum of the squared coefficients times the nodes' variances. Two steps covary through the nodes that both use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from flint import arb, fmpq

from dpverify.papers.tran2022.trees.tree_aggregation_bounds import (
    Node,
    compose_intervals,
    squared_decay_sum,
)
from dpverify.symbolic.exact.numbers import (
    ONE,
    ZERO,
    Exact,
    Value,
    ball,
    to_ball,
    to_exact,
    to_value,
)


def tree_noise_variance(
    t: int, alpha: Fraction, lipschitz: Fraction, sigma: Fraction, v: Exact
) -> Exact:
    """Return a coordinate's variance of NOISE_t, ``16 * alpha**2 * G**2 * sigma**2 * V * F(t)`` (Algorithm 1)."""
    node = to_value(16 * (alpha * lipschitz * sigma) ** 2) * to_value(v)
    return to_exact(node * to_value(squared_decay_sum(t, alpha)))


def mean_chi(d: int) -> arb:
    """Return the mean norm of a standard Gaussian vector, ``sqrt(2) * Gamma((d+1)/2) / Gamma(d/2) < sqrt(d)``."""
    if d < 1:
        raise ValueError(f"d must be at least 1, got d={d}.")
    if d < 400:
        return arb(2).sqrt() * (arb(d + 1) / 2).gamma() / (arb(d) / 2).gamma()
    # log-gamma does not overflow
    return arb(2).sqrt() * ((arb(d + 1) / 2).lgamma() - (arb(d) / 2).lgamma()).exp()


def expected_norm(variance: Exact, d: int) -> arb:
    """Return ``sqrt(variance) * mean_chi(d)``, the expected norm of a centred Gaussian with independent coordinates."""
    return ball(variance).sqrt() * mean_chi(d)


def expected_noise_norm(
    t: int, alpha: Fraction, lipschitz: Fraction, sigma: Fraction, v: Exact, d: int
) -> arb:
    """Return the expected norm of NOISE_t, ``sqrt(tree_noise_variance) * mean_chi(d)`` (see ``tran2022:lemma-12``)."""
    return expected_norm(tree_noise_variance(t, alpha, lipschitz, sigma, v), d)


# Rationals whose denominator has more than this many bits become balls
LONGEST: Final = 2048

Family: TypeAlias = Literal["G", "Delta", "r"]


class Term(NamedTuple):
    """One of the five terms of the noise of m_hat_t."""

    number: int  # 1 to 5, in the order of the proof of Lemma 7
    family: Family  # family of its nodes: "G", "Delta" or "r"
    # coefficient of each node's noise, the factor alpha included
    nodes: dict[Node, Exact]


def noise_terms(
    t: int, n_examples: int, alpha: Fraction, gamma: Fraction
) -> tuple[Term, ...]:
    """Return the five noise terms of m_hat_t, some of them without nodes (Algorithm 4, equation 8)."""
    check_parameters(t, n_examples, alpha, gamma)
    q, r = divmod(t, n_examples)
    a = to_value(alpha)
    decay = to_value(1 - alpha)
    keep = to_value(1 - gamma)
    mix = to_value(gamma)
    c = window_weights(q, n_examples, alpha, gamma)
    nodes: list[dict[Node, Exact]] = [{} for _ in range(5)]
    parts: list[tuple[int, int, int, Value]] = [
        (0, 1, r, a * power(decay, t - r)),
        (4, 1, t, a),
    ]
    if q:
        parts.append((1, r + 1, r + n_examples, a * c[q - 1]))
    for i in range(1, q):
        first = t - i * n_examples + 1
        last = t - i * n_examples + n_examples
        parts += [
            (2, first, last, a * mix * c[i - 1]),
            (3, first, last, a * keep * c[i - 1]),
        ]
    for place, first, last, weight in parts:
        for y, z in compose_intervals(first, last):
            nodes[place][y, z] = to_exact(shortened(weight * power(decay, last - z)))
    families: tuple[Family, ...] = ("G", "G", "G", "Delta", "r")
    return tuple(Term(place + 1, families[place], nodes[place]) for place in range(5))


def noise_coefficients(
    t: int, n_examples: int, alpha: Fraction, gamma: Fraction
) -> dict[Family, dict[Node, Exact]]:
    """Return the coefficients of the noises of all nodes (y, z) in m_hat_t, by family; see :func:`noise_terms`."""
    families: dict[Family, dict[Node, Exact]] = {"G": {}, "Delta": {}, "r": {}}
    for term in noise_terms(t, n_examples, alpha, gamma):
        families[term.family] |= term.nodes
    return families


def window_weights(
    count: int, n_examples: int, alpha: Fraction, gamma: Fraction
) -> list[Value]:
    """Return Algorithm 4's window weights c_1 .. c_count, latest first: ``c_{i+1} = (1-alpha)^N c_i + (1-gamma)^i``."""
    epoch = shortened(power(to_value(1 - alpha), n_examples))
    keep = to_value(1 - gamma)
    weights: list[Value] = []
    weight: Value = ZERO
    keep_power: Value = ONE
    for _ in range(count):
        weight = shortened(epoch * weight + keep_power)
        keep_power = shortened(keep_power * keep)
        weights.append(weight)
    return weights


def squared_decays(
    a: int, b: int, alpha: Fraction, *, until: int | None = None
) -> Value:
    """Sum ``(1-alpha)^(2 (b - z))`` over the nodes [y, z] of COMPOSE(a, b), or over those with z <= ``until``."""
    decay = to_value(1 - alpha)
    total: Value = ZERO
    for _, z in compose_intervals(a, b):
        if until is None or z <= until:
            total = total + power(decay, 2 * (b - z))
    return total


def power(base: Value, exponent: int) -> Value:
    """Raise to a power with ``0**0 = 1``, exactly while the result stays below ``LONGEST`` bits."""
    if isinstance(base, fmpq) and exponent * int(base.q).bit_length() <= LONGEST:
        return base**exponent
    return to_ball(base) ** exponent


def shortened(value: Value) -> Value:
    """Keep a rational of at most ``LONGEST`` bits, and enclose a longer one in a ball."""
    return (
        value
        if not isinstance(value, fmpq) or int(value.q).bit_length() <= LONGEST
        else to_ball(value)
    )


def check_parameters(
    t: int, n_examples: int, alpha: Fraction, gamma: Fraction = Fraction(0)
) -> None:
    """Raise ValueError if a parameter is out of range."""
    if t < 1:
        raise ValueError(f"t must be at least 1, got t={t}.")
    if n_examples < 1:
        raise ValueError(f"n_examples must be at least 1, got n_examples={n_examples}.")
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha must lie in (0, 1], got alpha={alpha}.")
    if not 0 <= gamma <= 1:
        raise ValueError(f"gamma must lie in [0, 1], got gamma={gamma}.")


Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]


@dataclass(frozen=True)
class NodeVariances:
    """Variance of one coordinate of a node's noise."""

    # G nodes that end at or before step 2N: ``delta_G^2 sigma^2 V_<=2N``
    g_first: Exact
    g_later: Exact  # the other G nodes: ``delta_G^2 sigma^2 V_>2N``
    delta: Exact  # delta nodes: ``delta_Delta^2 sigma^2 V_>2N``
    r: Exact  # r nodes: ``delta_r^2 sigma^2 V_>2N``

    @classmethod
    def of(cls, values: Mapping[str, Exact]) -> NodeVariances:
        """Compute the variances from ``sigma`` and the constants of Algorithm 2 (lines 9 to 13, 19), 0 if absent."""
        constants = {name: to_value(values.get(name, Fraction(0))) for name in _BOX}
        noise = constants["sigma"] ** 2
        g, drift, r = (
            constants[name] ** 2 * noise
            for name in ("delta_G", "delta_Delta", "delta_r")
        )
        first = constants["V_first"]
        later = constants["V_later"]
        return cls(
            *(to_exact(v) for v in (g * first, g * later, drift * later, r * later))
        )

    def of_node(self, family: Family, node: Node, n_examples: int) -> Exact:
        """Return the variance of one node's noise, by its family and its last step."""
        if family == "G":
            return self.g_first if node[1] <= 2 * n_examples else self.g_later
        return self.delta if family == "Delta" else self.r


_BOX = ("sigma", "delta_G", "delta_Delta", "delta_r", "V_first", "V_later")


def variance_terms(
    t: int, n_examples: int, alpha: Fraction, gamma: Fraction, nodes: NodeVariances
) -> tuple[Exact, Exact, Exact, Exact, Exact]:
    """Return one coordinate's variances of the five terms; they add up (``lemma-7-var-1`` to ``-5`` bound them)."""
    prefix = prefix_term(t, n_examples, alpha, nodes)
    first_window = first_window_term(t, n_examples, alpha, gamma, nodes)
    of_g, of_delta = window_terms(t, n_examples, alpha, gamma, nodes)
    return prefix, first_window, of_g, of_delta, drift_term(t, alpha, nodes)


def prefix_term(
    t: int, n_examples: int, alpha: Fraction, nodes: NodeVariances
) -> Exact:
    """Return the variance of term 1, ``alpha (1-alpha)^(t-r) G_[1,r]``; see :func:`variance_terms`."""
    check_parameters(t, n_examples, alpha)
    r = t % n_examples
    decays = power(to_value(1 - alpha), 2 * (t - r)) * squared_decays(1, r, alpha)
    return to_exact(to_value(alpha) ** 2 * decays * to_value(nodes.g_first))


def first_window_term(
    t: int, n_examples: int, alpha: Fraction, gamma: Fraction, nodes: NodeVariances
) -> Exact:
    """Return the variance of term 2, ``alpha c_q G_[r+1,r+N]``; see :func:`variance_terms`."""
    check_parameters(t, n_examples, alpha, gamma)
    q, r = divmod(t, n_examples)
    if q == 0:
        return Fraction(0)
    weight = to_value(alpha) * window_weights(q, n_examples, alpha, gamma)[-1]
    return to_exact(
        weight**2
        * squared_decays(r + 1, r + n_examples, alpha)
        * to_value(nodes.g_first)
    )


def window_terms(
    t: int, n_examples: int, alpha: Fraction, gamma: Fraction, nodes: NodeVariances
) -> tuple[Exact, Exact]:
    """Return the variances of terms 3 and 4, the windows' G and Delta; see :func:`variance_terms`."""
    check_parameters(t, n_examples, alpha, gamma)
    q = t // n_examples
    first = to_value(nodes.g_first)
    later = to_value(nodes.g_later)
    of_g: Value = ZERO
    of_delta: Value = ZERO
    for i, weight in enumerate(
        window_weights(q - 1, n_examples, alpha, gamma), start=1
    ):
        end = t - (i - 1) * n_examples
        window = squared_decays(end - n_examples + 1, end, alpha)
        early = (
            squared_decays(end - n_examples + 1, end, alpha, until=2 * n_examples)
            if i == q - 1
            else ZERO
        )
        of_g = shortened(of_g + weight**2 * (early * first + (window - early) * later))
        of_delta = shortened(of_delta + weight**2 * window)
    mix = to_value((alpha * gamma) ** 2)
    keep = to_value((alpha * (1 - gamma)) ** 2)
    return to_exact(shortened(mix * of_g)), to_exact(
        shortened(keep * of_delta * to_value(nodes.delta))
    )


def drift_term(t: int, alpha: Fraction, nodes: NodeVariances) -> Exact:
    """Return the variance of term 5, ``alpha r_[1,t]``; see :func:`variance_terms`."""
    check_parameters(t, 1, alpha)
    return to_exact(
        to_value(alpha) ** 2 * squared_decays(1, t, alpha) * to_value(nodes.r)
    )


def noise_variance(
    t: int, n_examples: int, alpha: Fraction, gamma: Fraction, nodes: NodeVariances
) -> Exact:
    """Return the variance of one coordinate of the noise in m_hat_t: the sum of :func:`variance_terms`."""
    total = sum(
        (to_value(v) for v in variance_terms(t, n_examples, alpha, gamma, nodes)), ZERO
    )
    return to_exact(total)


def covariance(
    s: int,
    t: int,
    n_examples: int,
    alpha: Fraction,
    gamma: Fraction,
    nodes: NodeVariances,
) -> Exact:
    """Return the covariance of one coordinate of the noises in m_hat_s and m_hat_t, through the nodes that both use."""
    at_s = noise_coefficients(s, n_examples, alpha, gamma)
    at_t = noise_coefficients(t, n_examples, alpha, gamma)
    total: Value = ZERO
    for family, mine in at_s.items():
        for node in mine.keys() & at_t[family].keys():
            product = to_value(mine[node]) * to_value(at_t[family][node])
            total = shortened(
                total + product * to_value(nodes.of_node(family, node, n_examples))
            )
    return to_exact(total)


def covariance_matrix(
    steps: int, n_examples: int, alpha: Fraction, gamma: Fraction, nodes: NodeVariances
) -> Matrix:
    """Return the (T, T) covariance of one coordinate of m_hat_1 .. m_hat_T's noise; singular if nodes lack noise."""
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got steps={steps}.")
    columns: dict[tuple[Family, Node], int] = {}
    entries: list[tuple[int, int, float]] = []
    for t in range(1, steps + 1):
        for family, coefficients in noise_coefficients(
            t, n_examples, alpha, gamma
        ).items():
            for node, coefficient in coefficients.items():
                place = columns.setdefault((family, node), len(columns))
                entries.append((t - 1, place, float(coefficient)))
    factor = np.zeros((steps, len(columns)))
    rows, places, values = (np.array(part) for part in zip(*entries, strict=True))
    factor[rows, places] = values
    variances = [
        float(nodes.of_node(family, node, n_examples)) for family, node in columns
    ]
    return np.asarray((factor * np.array(variances)) @ factor.T)
