"""Why the recursion over epochs unrolls to Algorithm 4: the weight of a window, step by step.

With W_i and D_i the windows that end i - 1 epochs before t, B = (1-alpha)^N (here ``decay``) and 1 - gamma (here
``keep``), the recursion is ``g_t = keep (D_1 + g_{t-N}) + gamma W_1``, ``G_t = B G_{t-N} + g_t``, and g_t = W_1 in the
second epoch. A window is number i at t and was number i - 1 at t - N: its weight in g_t is ``keep`` times what it was,
and its weight in G_t is B times what it was, plus that in g_t. Algorithm 4 gives it ``c_i = sum over j < i of keep^j
B^(i-1-j)``.
"""

from __future__ import annotations

from typing import Any

from sympy import Integer, Lambda, Sum, Symbol

from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.ranges import integer, real

DECAY = Symbol("decay", positive=True)
KEEP = Symbol("keep", positive=True)
WINDOW = Symbol("window", integer=True, positive=True)
j = Symbol("j", integer=True)

RANGES = {
    "decay": real(0, 1, open_lo=True, open_hi=True),
    "keep": real(0, 1, open_lo=True, open_hi=True),
    "window": integer(2, 12),
}


def by_epochs(window: Any) -> Any:
    """Weight of a window in G_t, epoch after epoch: sum over m of B^m times its weight in g at t - mN."""
    return Sum(DECAY**j * KEEP ** (window - 1 - j), (j, 0, window - 1))


def weight(*, fault: str = "") -> Derivation:
    """Derive the weight of window i of Algorithm 4 from that of window i - 1 and the recursion.

    The step of an induction over i >= 2, in which ``by_epochs(i - 1)`` is the hypothesis; for i = 1 both sides are 1.
    For the first whole window i = q, which has no Delta, the second line is the printed weight. ``fault`` plants one:
    "no decay" (G_{t-N} with the weight 1) or "one epoch late" (the newest weight keep^i).
    """
    decay: Any = Integer(1) if fault == "no decay" else DECAY
    newest = KEEP**WINDOW if fault == "one epoch late" else KEEP ** (WINDOW - 1)
    term = DECAY**j * KEEP ** (WINDOW - 1 - j)
    start = newest + decay * by_epochs(WINDOW - 1)
    separated = KEEP ** (WINDOW - 1) + Sum(term, (j, 1, WINDOW - 1))
    steps = (
        Step(separated, "=", note="the terms one epoch older, times the decay of an epoch"),
        Step(by_epochs(WINDOW), "=", "sum-split-first", {"lo": 0, "hi": WINDOW - 1, "f": Lambda(j, term)}),
        Step(
            Sum(KEEP**j * DECAY ** (WINDOW - 1 - j), (j, 0, WINDOW - 1)),
            "=",
            "sum-reverse",
            {"lo": 0, "hi": WINDOW - 1, "f": Lambda(j, term)},
            note="the weight c_i that Algorithm 4 prints",
        ),
    )
    letters = {"decay": r"(1-\alpha)^N", "keep": r"(1-\gamma)", "window": "i"}
    return Derivation("weight of a window", "ours", RANGES, (), start, steps, letters=letters)
