"""The geometric series behind every sensitivity: Propositions 13 and 14, Corollary 15."""

from __future__ import annotations

from fractions import Fraction


def geometric_series(alpha: Fraction, n_examples: int) -> Fraction:
    """Sum ``(1-alpha)**(N*i)`` over all i >= 0: how much one example weighs in a node, one visit every N steps.

    Source: ``tran2022:proposition-13``.
    """
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha must lie in (0, 1], got alpha={alpha}.")
    if n_examples < 1:
        raise ValueError(f"n_examples must be at least 1, got n_examples={n_examples}.")
    return 1 / (1 - (1 - alpha) ** n_examples)
