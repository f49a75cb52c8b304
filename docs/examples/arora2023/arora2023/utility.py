"""Utility of Algorithm 2 of arora2023: runs compared with its explicit bound, onsets, exponents, gradient counts.

    python docs/examples/arora2023/arora2023/utility.py

The script prints the tables of the README. It assumes L_0 = L_1 = F_0 = 1 and eta = 1/(2 L_1). The runs are the cases
of worst_cases.py, each with its own F_0.

*Bound with b_1 = b_2 = n and T = m q* (``full_batches``). Nothing is sampled, so a run is a composition of m releases
of gradients and T - m releases of changes, all Gaussian. With the multipliers of lines 2 to 4, sigma sqrt(m) and sigma
sqrt(T), it has mu^2 = S/sigma^2, where S = 2 - 1/q. With y = d/(n mu)^2 this gives tau_1^2 = 4 S m y and
tau_2^2 = 4 S q m y. So the condition of note-lemma-b-1-direct is q^2 m S y <= 1/2, and the squared bound is its left
side, 4/T + 4 (1 + 1/T) S m y. For m = q and equality in the condition, this is (6 + 2/q^2)/q^2, at
n = sqrt(2 S q^3 d)/mu.

*Bound of noisy gradient descent* (``descent``) for T steps of size h < 2/L_1 on all examples. Each coordinate of the
noise has the deviation sqrt(T) 2 L_0/(n mu), so T steps together have mu. A step lowers F on average by at least
h (1 - L_1 h/2) |grad F|^2 - L_1 h^2/2 T v, with v = 4 d (L_0/(n mu))^2. So the mean squared gradient over the T
iterates is at most (F_0/x + L_1 x v/2)/(1 - L_1 h/2), where x = h T. For all T and h, this bound is above
sqrt(2 F_0 L_1 v), the minimum of F_0/x + L_1 x v/2. It tends to this minimum as T goes to infinity, for the minimizing
x. The square root of the minimum is (8 y)^(1/4). DP-SGD has sampling error in addition.

*Exponent.* For a_bar <= 1, T of Theorem B.3 is a_bar^(-4/3), and the left side of note-theorem-b-3-constants is exactly
sqrt(4 + 4 c^2 (1 + c^2)) a_bar^(2/3).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from dpverify.harness.simulation.slopes_check import LEVEL, interval, slopes
from dpverify.privacy.gaussian_safe import safe_mu
from dpverify.report.markdown import table
from dpverify.targets import load_object

WORST: Final[Any] = load_object(f"{Path(__file__).with_name('worst_cases.py')}:CASES")[1]
CONSTANTS: Final[Any] = load_object(f"{Path(__file__).with_name('constants.py')}:theorem")[1]
SPIDER: Final[Any] = WORST.SPIDER

C: Final = 3.4  # the constant c in the README
DELTA: Final = 1e-6
CELLS: Final = tuple((d, epsilon) for epsilon in (0.1, 1.0) for d in (10, 100, 1000))
LARGEST_SIZE: Final = 10**11


def runs_table() -> str:
    """Return a table of the cases, each with its mean and its confidence limit divided by the bound."""
    rows = []
    for case in WORST.CASES:
        mean, low = WORST.limit(case)
        verdict = "refuted" if low > case.bound else "not refuted"
        ratios = (mean / case.bound, low / case.bound, mean / case.left_bound)
        detected = f"{case.fault_text}: k = {WORST.smallest_fault(case)}"
        rows.append([f"{case.name}: {case.text}", *(f"{ratio:.3f}" for ratio in ratios), verdict, detected])
    head = ["case", "mean/bound", "lower limit/bound", "mean/left side", "verdict", "smallest detected fault"]
    return table(head, rows)


# Bounds


def a_bar(n: int, d: int, epsilon: float) -> float:
    """Return sqrt(d log(1/delta))/(n epsilon)."""
    return math.sqrt(d * math.log(1.0 / DELTA)) / (n * epsilon)


def note_sides(a: float, noise: float = C) -> tuple[float, float]:
    """Return both sides of note-theorem-b-3-constants at a_bar = a <= 1, without rounding T."""
    factor = 2.0 * noise * math.sqrt(1.0 + noise**2)
    return math.sqrt(4.0 + factor**2) * a ** (2.0 / 3.0), (2.0 + factor) * a ** (2.0 / 3.0) + factor * a


def recorded(n: int, d: int, epsilon: float) -> float:
    """Return the left side, with the factor 1 + a_bar because T is rounded up. It is above 1 if q would be 0."""
    a = a_bar(n, d, epsilon)
    return (1.0 + a) * note_sides(a)[0] if a <= 1.0 else math.inf


def variance(n: int, d: int, epsilon: float) -> float:
    """Return y = d/(n mu)^2, with a certified mu that is rounded down."""
    return d / (n * safe_mu(epsilon, DELTA)) ** 2


class FullBatches(NamedTuple):
    """The bound with b_1 = b_2 = n and T = m q, and its T and q."""

    bound: float
    steps: int
    phase: int


PHASES: Final = np.unique(np.round(np.geomspace(1.0, 1e7, 701)))  # the largest value is enough for n up to LARGEST_SIZE


def full_batches(y: float) -> FullBatches:
    """Return the smallest bound over m and the q in PHASES. It falls with y, because the bound for each m and q does.

    For each q, the squared bound is convex in m. So the best m is next to the real minimizer, or the largest allowed m.
    """
    releases = 2.0 - 1.0 / PHASES
    most = np.floor(0.5 / (PHASES**2 * releases * y))
    middle = np.floor(1.0 / np.sqrt(PHASES * releases * y))
    rounds = np.stack([np.clip(middle, 1.0, most), np.clip(middle + 1.0, 1.0, most)])
    steps = np.maximum(rounds, 1.0) * PHASES
    squares = 4.0 / steps + 4.0 * (1.0 + 1.0 / steps) * releases * rounds * y
    squares[rounds < 1.0] = np.inf  # the condition does not hold for m = 1
    i, j = np.unravel_index(int(np.argmin(squares)), squares.shape)
    return FullBatches(math.sqrt(squares[i, j]), int(steps[i, j]), int(PHASES[j]))


def descent(y: float) -> float:
    """Return the infimum over T and h of the bound of noisy gradient descent."""
    return math.sqrt(math.sqrt(8.0 * y))


# Exponents


LENGTHS: Final = (16, 32, 64, 128)
REPLICATIONS: Final = 100


def full_batch_case(q: int) -> Any:
    """Return the noise-limited case with T = q^2 and q tau_2^2 eta^2 = 1/2, where tau_1^2 = 2/q^2.

    Without offsets all examples are equal. So the law of the iterates does not depend on n.
    """
    return replace(WORST.NOISE, steps=q**2, phase=q, squared_noise=2.0 / q**2, squared_change_noise=2.0 / q)


def measured_exponent() -> str:
    """Return the exponent of n in runs of the noise-limited case, for the n at which the noise gives epsilon = 1."""
    mu = safe_mu(1.0, DELTA)
    sizes = [math.ceil(math.sqrt(2.0 * (2.0 - 1.0 / q) * q**3 * WORST.NOISE.dimension) / mu) for q in LENGTHS]
    along = np.log(sizes)
    cases = [full_batch_case(q) for q in LENGTHS]
    squares = np.array([[WORST.squared_gradient(case, seed) for case in cases] for seed in range(REPLICATIONS)])
    middle, low, high = interval(slopes(0.5 * np.log(squares), along))
    bounds = [math.sqrt(6.0 + 2.0 / q**2) / q for q in LENGTHS]
    words = f"n = {sizes[0]:,} to {sizes[-1]:,}: runs {middle:.4f} [{low:.4f}, {high:.4f}], t interval, level {LEVEL}"
    return f"{words}; bound {float(slopes(np.log(bounds), along)):.4f}"


def exponent_table() -> str:
    """Return a table of local exponents of n in the bounds, between n and 10 n, for d = 10 and epsilon = 1."""
    rows = []
    for n in (10**4, 10**5, 10**6, 10**7, 10**8):
        bounds = [[*note_sides(a_bar(m, 10, 1.0)), full_batches(variance(m, 10, 1.0)).bound] for m in (n, 10 * n)]
        exponents = [math.log10(after / before) for before, after in zip(*bounds, strict=True)]
        rows.append([f"{n:,}", *(f"{exponent:.4f}" for exponent in exponents)])
    return table(["n", "note, left side", "note, right side", "full batches"], rows)


# Onset and counts


def smallest_size(is_below: Callable[[int], bool]) -> int:
    """Return the smallest n with a property that all larger n also have."""
    return 1 + bisect_left(range(1, LARGEST_SIZE), True, key=is_below)


def note_onset(d: int, epsilon: float) -> int:
    """Return the n from which on the note's bound is below L_0 = 1."""
    return smallest_size(lambda n: recorded(n, d, epsilon) < 1.0)


def onsets(d: int, epsilon: float) -> list[int]:
    """Return the sizes of the columns of ``onset_table``.

    The curves of the last column cross several times, up to 3% apart, because T and q are integers. The result is one
    of these crossings.
    """

    def below(bound: Callable[[int], float], other: Callable[[int], float]) -> int:
        return smallest_size(lambda n: bound(n) < other(n))

    def trivial(n: int) -> float:
        del n
        return 1.0

    def note(n: int) -> float:
        return recorded(n, d, epsilon)

    def full(n: int) -> float:
        return full_batches(variance(n, d, epsilon)).bound

    def plain(n: int) -> float:
        return descent(variance(n, d, epsilon))

    return [note_onset(d, epsilon), below(full, trivial), below(plain, trivial), below(note, plain), below(full, plain)]


def onset_table() -> str:
    """Return a table of the n from which on the bounds are below L_0 = 1 and below the bound of noisy descent."""
    rows = []
    for d, epsilon in CELLS:
        *sizes, note, full = onsets(d, epsilon)
        rows.append([str(d), f"{epsilon:g}", *(f"{n:,}" for n in sizes), f"{note:.1e}", f"{full:.1e}"])
    names = ["note < L_0", "full batches < L_0", "DP-GD < L_0", "note < DP-GD", "full batches < DP-GD"]
    return table(["d", "epsilon", *names], rows)


def complexity(n: int, d: int, epsilon: float) -> float:
    """Return the printed order of the number of gradients, without constant and logarithms."""
    line = math.pow(n, 5.0 / 3.0) * math.pow(epsilon, 2.0 / 3.0) / math.pow(d, 1.0 / 3.0)
    return max(line, (n * epsilon) ** 2 / d)


def note_settings(n: int, d: int, epsilon: float) -> Any:
    """Return the settings with T, rounded up, and q and b_2 of note-theorem-b-3-constants."""
    a = a_bar(n, d, epsilon)
    steps = math.ceil(a ** (-4.0 / 3.0))
    phase = math.floor(1.0 / ((1.0 + C**2) * steps * a**2))
    batch = min(n, math.ceil(max(n / math.sqrt(steps), 1.0 / (steps * a**2))))
    return msgspec.structs.replace(CONSTANTS.theorem(n, d, epsilon, DELTA), steps=steps, phase=phase, batch=batch)


def counted(settings: Any, n: int) -> int:
    """Return the number of example gradients that a run computes. It does not depend on the noise."""
    s = settings
    problem = WORST.Bowl(1.0, 0.0, n)
    parameters = SPIDER.SpiderParameters(s.steps, s.phase, s.first_batch, s.batch, WORST.ETA, 1.0, 1.0, 1.0)
    SPIDER.SpiderBoostRun(problem, n, np.zeros(1), parameters).advance()
    return int(problem.gradients)


def count_table() -> str:
    """Return a table of gradient counts at the smallest n for which the note's bound is below L_0."""
    rows = []
    for d, epsilon in CELLS:
        n = note_onset(d, epsilon)
        best = full_batches(variance(n, d, epsilon))
        printed = CONSTANTS.theorem(n, d, epsilon, DELTA)
        note = note_settings(n, d, epsilon)
        full = msgspec.structs.replace(printed, steps=best.steps, phase=best.phase, batch=n)
        row = [str(d), f"{epsilon:g}", f"{n:,}", f"{complexity(n, d, epsilon):.3g}"]
        for settings in (printed, note, full):
            count = counted(settings, n)
            sizes = f"{settings.steps}, {settings.phase}, {settings.batch:,}"
            row += [sizes, f"{count:.3g}", f"{count / complexity(n, d, epsilon):.2f}"]
        rows.append([*row, f"{CONSTANTS.needed_constant(note, n, epsilon, DELTA):.3f}"])
    head = ["d", "epsilon", "n", "printed"]
    for name in ("Theorem B.3", "note", "full batches"):
        head += [f"{name}: T, q, b_2", "gradients", "over printed"]
    return table([*head, "c needed by the note"], rows)


def main() -> None:
    """Print all tables."""
    for text in (runs_table, onset_table, exponent_table, measured_exponent, count_table):
        print(text(), end="\n\n")


if __name__ == "__main__":
    main()
