"""Which noises are in m_hat_t of Algorithm 2, and with which coefficients: Algorithm 4 and equation 8, exactly.

With t = qN + r, beta = 1 - alpha and c_i = sum_{j<i} (1-gamma)^j beta^{(i-1-j)N}, the noise of m_hat_t is alpha times

    1.  beta^{t-r}    sum over COMPOSE(1, r)            of beta^{r-z}   zeta^G_[y,z]
    2.  c_q           sum over COMPOSE(r+1, r+N)        of beta^{r+N-z} zeta^G_[y,z],           where q >= 1
    3.  c_i gamma     sum over COMPOSE(t-iN+1, t-iN+N)  of beta^{t-iN+N-z} zeta^G_[y,z],        i = 1 .. q - 1
    4.  c_i (1-gamma) sum over the same nodes           of beta^{t-iN+N-z} zeta^Delta_[y,z],    i = 1 .. q - 1
    5.                sum over COMPOSE(1, t)            of beta^{t-z}   zeta^r_[y,z].

The printed sum over i in term 2 is c_q. The intervals of terms 1 to 3 are disjoint and fill [1, t], those of term 4
fill [r+N+1, t], so no node occurs twice in a step: variances add. Fractions, or balls where those would be too long; no
kernel is imported.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final, Literal, NamedTuple, TypeAlias

from flint import fmpq

from dpverify.papers.tran2022.trees.compose_bounds import Node, compose_intervals
from dpverify.symbolic.exact.numbers import ONE, ZERO, Exact, Value, to_ball, to_exact, to_value

LONGEST: Final = 2048  # Rationals with a longer denominator than this many bits become balls

Family: TypeAlias = Literal["G", "Delta", "r"]


class Term(NamedTuple):
    """One of the five terms of the noise of m_hat_t."""

    number: int  # 1 to 5, in the order of the proof of Lemma 7
    family: Family  # whose nodes: "G", "Delta" or "r"
    nodes: dict[Node, Exact]  # coefficient of each node's noise, the factor alpha included


def noise_terms(t: int, n_examples: int, alpha: Fraction, gamma: Fraction) -> tuple[Term, ...]:
    """Coefficients of all node noises in m_hat_t: the five terms, some without nodes (Algorithm 4, equation 8)."""
    check_parameters(t, n_examples, alpha, gamma)
    q, r = divmod(t, n_examples)
    a = to_value(alpha)
    decay = to_value(1 - alpha)
    keep = to_value(1 - gamma)
    mix = to_value(gamma)
    c = window_weights(q, n_examples, alpha, gamma)
    nodes: list[dict[Node, Exact]] = [{} for _ in range(5)]
    parts: list[tuple[int, int, int, Value]] = [(0, 1, r, a * power(decay, t - r)), (4, 1, t, a)]
    if q:
        parts.append((1, r + 1, r + n_examples, a * c[q - 1]))
    for i in range(1, q):
        first = t - i * n_examples + 1
        last = t - i * n_examples + n_examples
        parts += [(2, first, last, a * mix * c[i - 1]), (3, first, last, a * keep * c[i - 1])]
    for place, first, last, weight in parts:
        for y, z in compose_intervals(first, last):
            nodes[place][y, z] = to_exact(shortened(weight * power(decay, last - z)))
    families: tuple[Family, ...] = ("G", "G", "G", "Delta", "r")
    return tuple(Term(place + 1, families[place], nodes[place]) for place in range(5))


def noise_coefficients(t: int, n_examples: int, alpha: Fraction, gamma: Fraction) -> dict[Family, dict[Node, Exact]]:
    """Coefficients of the noises of all nodes (y, z) in m_hat_t, by family; see :func:`noise_terms`."""
    families: dict[Family, dict[Node, Exact]] = {"G": {}, "Delta": {}, "r": {}}
    for term in noise_terms(t, n_examples, alpha, gamma):
        families[term.family] |= term.nodes
    return families


def window_weights(count: int, n_examples: int, alpha: Fraction, gamma: Fraction) -> list[Value]:
    """Weights c_1 .. c_count of Algorithm 4's windows, latest first: ``c_{i+1} = (1-alpha)^N c_i + (1-gamma)^i``."""
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


def squared_decays(a: int, b: int, alpha: Fraction, *, until: int | None = None) -> Value:
    """Sum of ``(1-alpha)^(2 (b - z))`` over the nodes [y, z] of COMPOSE(a, b), or over those with z <= ``until``."""
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
    return value if not isinstance(value, fmpq) or int(value.q).bit_length() <= LONGEST else to_ball(value)


def check_parameters(t: int, n_examples: int, alpha: Fraction, gamma: Fraction = Fraction(0)) -> None:
    """Refuse parameters out of range."""
    if t < 1:
        raise ValueError(f"t must be at least 1, got t={t}.")
    if n_examples < 1:
        raise ValueError(f"n_examples must be at least 1, got n_examples={n_examples}.")
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha must lie in (0, 1], got alpha={alpha}.")
    if not 0 <= gamma <= 1:
        raise ValueError(f"gamma must lie in [0, 1], got gamma={gamma}.")
