"""The parameters that Theorems 6 and 9 print for a data set and a privacy budget, and their conditions."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class TheoremParameters:
    """What a utility theorem prints."""

    theorem: str  # id of the claim
    steps: float  # T as printed, not rounded; for Theorem 6 the solution of its equation for T
    eta: float  # for the T that is really run; gamma is 1 where the algorithm has none
    alpha: float
    gamma: float
    warnings: list[str]  # conditions of the theorem, printed or needed by its proof, that fail


def theorem_6(examples: int, dimension: int, epsilon: float, delta: float, steps: int | None) -> TheoremParameters:
    """Give the parameters of Theorem 6; ``T log2(T) = epsilon N^2 / sqrt(d log(1/delta))`` is solved for T."""
    root = math.sqrt(dimension * math.log(1.0 / delta))
    printed = _solve_t_log2_t(epsilon * examples**2 / root)
    T = max(1, round(printed)) if steps is None else steps
    alpha = epsilon * examples / (T * math.log2(T) * root) if T > 1 else math.inf
    eta = 1.0 / math.sqrt(examples * T)
    return TheoremParameters("theorem-6", printed, eta, alpha, 1.0, _about_alpha(alpha, examples, T, printed))


def theorem_9(examples: int, dimension: int, epsilon: float, delta: float, steps: int | None) -> TheoremParameters:
    """Give the parameters of Theorem 9, for Algorithm 2."""
    printed = examples ** (7 / 3) * epsilon ** (4 / 3) / dimension ** (2 / 3)
    T = max(1, round(printed)) if steps is None else steps
    alpha = examples**0.75 * epsilon / (T**0.75 * math.sqrt(dimension))
    eta = 1.0 / math.sqrt(examples * T)
    gamma = eta * examples
    warnings = _about_alpha(alpha, examples, T, printed)
    if gamma > 0.5:
        warnings.append(f"gamma = eta N = {gamma:.4g} is above 1/2, which Lemma 7 needs: T is below 4 N")
    return TheoremParameters("theorem-9", printed, eta, alpha, min(gamma, 1.0), warnings)


def _about_alpha(alpha: float, examples: int, T: int, printed: float) -> list[str]:
    warnings = []
    if alpha > 1.0:
        warnings.append(f"the printed alpha = {alpha:.4g} is above 1: the condition on epsilon fails")
    elif alpha * examples < 1.0 - 1e-3:
        reason = f"T = {T} is above the printed {printed:.6g}"
        warnings.append(f"the printed alpha = {alpha:.4g} is below 1/N = {1 / examples:.4g}: {reason}")
    return warnings


def _solve_t_log2_t(value: float) -> float:
    """T with T log2(T) = value, by Newton's method on a convex increasing function, from the right."""
    x = max(2.0, value)
    for _ in range(200):
        step = (x * math.log2(x) - value) / (math.log2(x) + 1.0 / math.log(2.0))
        x -= step
        if abs(step) <= 1e-13 * x:
            break
    return x
