"""Algorithm 3 in closed form: how many nodes COMPOSE returns, and how much decay they carry.

The greedy COMPOSE(a, b) is read here as arithmetic on the bits of ``x = a - 1`` and ``y = b``. Let ``j`` be the highest
bit in which x and y differ. Going up from x to the multiple of ``2**j`` between them takes one node per set bit of
``p = 2**j - (x mod 2**j)``; going on to y takes one node per set bit of ``v = y mod 2**j``. NOTES.md has the proof.
Everything is exact: integers and Fractions only, no kernel is imported.
"""

from __future__ import annotations

from fractions import Fraction


def compose_count(a: int, b: int) -> int:
    """Count the nodes of COMPOSE(a, b).

    Parameters
    ----------
    a, b : int
        First and last step of the interval, ``1 <= a <= b``.

    Returns
    -------
    int
        ``popcount(2**j - (a-1) mod 2**j) + popcount(b mod 2**j)``.

    Raises
    ------
    ValueError
        If ``1 <= a <= b`` does not hold.

    Notes
    -----
    Source: ``tran2022:proposition-18``, Algorithm 3.
    """
    if not 1 <= a <= b:
        raise ValueError(f"a and b must satisfy 1 <= a <= b, got a={a}, b={b}.")
    x = a - 1
    block = 1 << ((x ^ b).bit_length() - 1)
    return (block - x % block).bit_count() + (b % block).bit_count()


def squared_decay_sum(t: int, alpha: Fraction) -> Fraction:
    """Sum the squared decays of the nodes of COMPOSE(1, t): the noise variance of step t in units of one node's.

    The node that belongs to the set bit i of t ends at ``t - t mod 2**i``, so its noise enters with the factor
    ``(1-alpha)**(t mod 2**i)``.

    Parameters
    ----------
    t : int
        Step, ``t >= 1``.
    alpha : Fraction
        Momentum weight in (0, 1].

    Returns
    -------
    Fraction
        ``sum over set bits i of t of (1-alpha)**(2*(t mod 2**i))``, with ``0**0 = 1``.

    Raises
    ------
    ValueError
        If ``t < 1`` or alpha is outside (0, 1].

    Notes
    -----
    Source: ``tran2022:proposition-16`` with gamma = 1 - alpha; Algorithm 1, the loop over S.
    """
    return covariance_factor(t, t, alpha)


def covariance_factor(s: int, t: int, alpha: Fraction) -> Fraction:
    """Covariance of NOISE_s and NOISE_t per coordinate, in units of one node's variance.

    Two steps share the node of bit i exactly if they agree in bit i and in every bit above it.

    Parameters
    ----------
    s, t : int
        Steps, at least 1.
    alpha : Fraction
        Momentum weight in (0, 1].

    Returns
    -------
    Fraction
        ``sum over shared nodes of (1-alpha)**(s - z) * (1-alpha)**(t - z)``.

    Raises
    ------
    ValueError
        If a step is below 1 or alpha is outside (0, 1].

    Notes
    -----
    Source: ``tran2022:algorithm-1-noise``.
    """
    if min(s, t) < 1:
        raise ValueError(f"s and t must be at least 1, got s={s}, t={t}.")
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha must lie in (0, 1], got alpha={alpha}.")
    decay = 1 - alpha
    total = Fraction(0)
    for i in range(min(s, t).bit_length()):
        if s >> i == t >> i and t >> i & 1:
            total += decay ** (s % (1 << i) + t % (1 << i))
    return total
