"""Theorem 2.2 on finite data: the stability and the generalization error of any algorithm, exactly.

Both depend on the algorithm and the loss through g(S, z) = E_A f(A(S), z) alone, which may be any table.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

Data = tuple[int, ...]
Table = dict[tuple[Data, int], int]


def table_of(code: int, n: int, size: int) -> Table:
    """Give the table of zeros and ones for data sets of n from so many kinds of examples, by its binary digits."""
    keys = itertools.product(itertools.product(range(size), repeat=n), range(size))
    return {key: code >> place & 1 for place, key in enumerate(keys)}


def stability(table: Table, n: int, size: int) -> Fraction:
    """Largest difference g(S, z) - g(S', z) between data sets that differ in one example."""
    largest = 0
    for (data, z), value in table.items():
        for place, replacement in itertools.product(range(n), range(size)):
            largest = max(largest, value - table[(*data[:place], replacement, *data[place + 1 :]), z])
    return Fraction(largest)


def generalization_error(table: Table, n: int, chances: Sequence[Fraction]) -> Fraction:
    """E[F_E(A(S)) - F_S(A(S))] for n independent examples with these chances."""
    error = Fraction(0)
    for (data, z), value in table.items():
        error += math.prod(chances[x] for x in data) * value * (chances[z] - Fraction(data.count(z), n))
    return error


def exchanged(table: Table, n: int, chances: Sequence[Fraction]) -> Fraction:
    """Give the mean over i of E[g(S, z') - g(S^i, z')], where S^i has one more example z' in the i-th place."""
    mean = Fraction(0)
    for (data, z), value in table.items():
        for place in range(n):
            exchanged_value = table[(*data[:place], z, *data[place + 1 :]), z]
            mean += math.prod(chances[x] for x in data) * chances[z] * Fraction(value - exchanged_value, n)
    return mean
