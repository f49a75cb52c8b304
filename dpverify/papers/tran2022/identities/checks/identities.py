"""Checks of vector identities: equations 1 to 3, 8 and 9, Lemma 17 and its proof, and the recursions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from dpverify.harness import Budget, PaperChecks
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.identities.checks.identity_check import (
    IdentityCheck,
    IdentityFault,
    Size,
)
from dpverify.papers.tran2022.identities.combinations_bounds import (
    Function,
    Ordering,
    paper_functions,
)

CHECKS = PaperChecks("tran2022", __name__)

# All runs of up to this length, for every N up to MOST_EXAMPLES
LONGEST = {"smoke": 9, "standard": 12, "full": 18}

LONGEST_TEXT = "{smoke} (smoke), {standard} (standard) or {full} (full budget)".format(
    **LONGEST
)

MOST_EXAMPLES = 4

LARGE = {  # Larger sizes (N, T); T is not a multiple of N, and N is not a power of two
    "smoke": ((7, 60),),
    "standard": ((7, 60), (12, 131)),
    "full": ((7, 60), (12, 131), (100, 1023)),
}


def _runs(letter: str) -> Callable[[Budget], Iterable[Size]]:
    """Return a function that yields sizes of N and of the last step, which the statement calls t or T."""

    def sizes(budget: Budget) -> Iterable[Size]:
        for steps in range(1, LONGEST[budget.name] + 1):
            for n in range(1, MOST_EXAMPLES + 1):
                yield {"N": n, letter: steps}
        for n, steps in LARGE[budget.name]:
            yield {"N": n, letter: steps}

    return sizes


def _windows(budget: Budget) -> Iterable[Size]:
    """Yield the sizes of ``_runs`` with window numbers."""
    for size in _runs("T")(budget):
        for window in sorted({1, 2, 3, size["T"] // size["N"]}):
            yield {**size, "window": window}


def _steps(budget: Budget) -> Iterable[Size]:
    """Yield sizes for a statement without epochs."""
    yield from ({"t": t} for t in range(1, 3 * LONGEST[budget.name]))
    yield {"t": 255}


def _functions(
    statement: Statement, size: Size, alpha: Fraction
) -> Sequence[Mapping[str, Function]]:
    """Return the functions under the statement's ordering, for epochs qN + 1 .. (q+1)N and qN .. qN + N - 1."""
    n = size.get("N", 3)
    ordering = statement.reading.get("ordering", "fresh")
    if ordering == "once" or n == 1:  # with one example all orders are the same
        orders = [Ordering("once", n, 1), Ordering("once", n, 0)]
    else:  # "free" proves a statement for every order, and "reversed" is one order that can give a counterexample
        orders = [
            Ordering("free", n, 1),
            Ordering("free", n, 0),
            Ordering("reversed", n, 1),
        ]
    return [paper_functions(order, alpha) for order in orders]


def _swapped(
    statement: Statement, size: Size, alpha: Fraction
) -> Sequence[Mapping[str, Function]]:
    """Return functions with a planted fault: one epoch exchanges two examples."""
    return [paper_functions(Ordering("swapped", size.get("N", 3)), alpha)]


def _anchor_off(
    statement: Statement, size: Size, alpha: Fraction
) -> Sequence[Mapping[str, Function]]:
    """Return functions with a planted fault: Delta subtracts the gradient at the anchor of two epochs before."""
    once = _functions(statement, size, alpha)[0]
    n = size.get("N", 3)
    return [
        {
            **once,
            "Delta_win": lambda a, b: (
                once["G_win"](a, b) - once["G_win"](a - 2 * n, b - 2 * n)
            ),
        }
    ]


def _full_functions(
    statement: Statement, size: Size, alpha: Fraction
) -> Sequence[Mapping[str, Function]]:
    """Return the functions of Lemma 11's proof, for both possible readings of g_1 and both of w_0."""
    order = Ordering("free", 3)
    return [
        paper_functions(order, alpha, full_start=start, before_first=before)
        for start in ("gradient", "zero")
        for before in (0, 1)
    ]


def _coefficient_off(gradient: str) -> IdentityFault:
    return IdentityFault(
        "coefficient-off",
        f"one billionth of {gradient} added to the right side",
        rhs=f"printed + 1e-9*{gradient}",
        at_declared_size=True,
    )


SWAPPED = IdentityFault(
    "two-examples-swapped",
    "epoch 1 exchanges its first two examples",
    functions=_swapped,
    ordering="once",
)
ANCHOR_OFF = IdentityFault(
    "anchor-off",
    "Delta subtracts at the anchor of two epochs before",
    functions=_anchor_off,
    ordering="once",
)
WEIGHT_OFF = IdentityFault(
    "weight-off",
    "gamma Delta for (1 - gamma) Delta",
    change=("(1 - gamma)*Delta", "gamma*Delta"),
)
POWER_OFF = IdentityFault(
    "power-off",
    "the power of 1 - gamma off by one",
    change=("(1 - gamma)**j", "(1 - gamma)**(j + 1)"),
)
LAST_LEFT_OUT = IdentityFault(
    "window-left-out",
    "the sum over i stops at q - 2",
    change=("i, 1, q - 1", "i, 1, q - 2"),
)


def _windows_identity(claim: str, letter: str, *faults: IdentityFault) -> IdentityCheck:
    """Return the check of a statement about windows."""
    return IdentityCheck(
        claim,
        "coefficients",
        sizes=_windows if claim == "lemma-17-unrolled" else _runs(letter),
        functions=_functions,
        faults=[_coefficient_off("anchor_grad(1)"), *faults],
        region=f"N up to {MOST_EXAMPLES} and {letter} up to {LONGEST_TEXT}; fixed values of alpha and gamma at sizes "
        f"(N, {letter}) = {', '.join(map(str, LARGE['full']))}",
    )


def _step_identity(claim: str, gradient: str, *faults: IdentityFault) -> IdentityCheck:
    """Return the check of a statement about steps, without windows."""
    full = claim.startswith("lemma-11")
    return IdentityCheck(
        claim,
        "coefficients",
        sizes=_steps,
        functions=_full_functions if full else _functions,
        faults=[_coefficient_off(gradient), *faults],
        region=f"t below 3 times {LONGEST_TEXT}; fixed values of alpha at t = 255",
    )


DECAY_OFF = IdentityFault(
    "decay-off", "the power of 1 - alpha off by one", change=("(t - i)", "(t - i + 1)")
)

CHECKS.add(
    _step_identity("section-3-momentum-unrolled", "grad(1)", DECAY_OFF),
    _step_identity("equation-1", "anchor_grad(1)", DECAY_OFF),
    _step_identity(
        "equation-2",
        "anchor_grad(1)",
        IdentityFault(
            "r-short", "r begins at 2", change=("r_win(1, t)", "r_win(2, t)")
        ),
    ),
    _step_identity(
        "section-4-full-batch-recursion",
        "full_grad(1)",
        IdentityFault(
            "weight-off",
            "2 gamma for gamma",
            change=("gamma*full_grad", "2*gamma*full_grad"),
        ),
    ),
    _step_identity(
        "lemma-11-unrolled",
        "full_grad(1)",
        IdentityFault("decay-off", "t - i", change=("(t - i + 1)", "(t - i)")),
    ),
    _windows_identity(
        "equation-9",
        "T",
        IdentityFault(
            "window-long",
            "it begins at T - N",
            change=("G_win(T - N + 1", "G_win(T - N"),
        ),
    ),
    _windows_identity(
        "equation-3", "t", SWAPPED, ANCHOR_OFF, WEIGHT_OFF, POWER_OFF, LAST_LEFT_OUT
    ),
    _windows_identity(
        "equation-8", "t", SWAPPED, ANCHOR_OFF, WEIGHT_OFF, POWER_OFF, LAST_LEFT_OUT
    ),
    _windows_identity(
        "lemma-17", "T", SWAPPED, ANCHOR_OFF, WEIGHT_OFF, POWER_OFF, LAST_LEFT_OUT
    ),
    _windows_identity("lemma-17-window", "T", SWAPPED, ANCHOR_OFF, WEIGHT_OFF),
    _windows_identity("lemma-17-q2", "T", SWAPPED, ANCHOR_OFF, WEIGHT_OFF),
    _windows_identity(
        "lemma-17-hypothesis", "T", SWAPPED, ANCHOR_OFF, WEIGHT_OFF, POWER_OFF
    ),
    _windows_identity(
        "lemma-17-unrolled", "T", SWAPPED, ANCHOR_OFF, WEIGHT_OFF, POWER_OFF
    ),
    _windows_identity("lemma-17-step", "T", SWAPPED, ANCHOR_OFF, WEIGHT_OFF, POWER_OFF),
    _windows_identity(
        "lemma-17-last-line",
        "T",
        SWAPPED,
        ANCHOR_OFF,
        WEIGHT_OFF,
        POWER_OFF,
        LAST_LEFT_OUT,
    ),
)
