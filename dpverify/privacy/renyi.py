"""Renyi divergences of Gaussian families, zero-concentrated DP, and their composition."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TypeAlias

Curve: TypeAlias = Callable[[float], float]
"""Bound on the Renyi divergence as a function of the order, which is above 1."""


def check_order(order: float) -> None:
    """Refuse an order that is not above 1."""
    if not order > 1:
        raise ValueError(f"order must be above 1, got order={order}.")


def gaussian_rdp(order: float, mu: float) -> float:
    """Renyi divergence of a Gaussian mechanism, and of any composition of them with this root of the sum of squares.

    Parameters
    ----------
    order : float
        Renyi order, above 1.
    mu : float
        Sensitivity over standard deviation.

    Returns
    -------
    float
        order mu^2/2 (Mironov 2017, corollary 3).

    Raises
    ------
    ValueError
        If the order is not above 1, or mu is negative or NaN.
    """
    check_order(order)
    return order * zcdp_of(mu)


def zcdp_of(mu: float) -> float:
    """Parameter rho of zero-concentrated DP of a Gaussian mechanism: mu^2/2 (Bun and Steinke 2016, proposition 6).

    Parameters
    ----------
    mu : float
        Sensitivity over standard deviation, at least 0.

    Returns
    -------
    float
        rho.

    Raises
    ------
    ValueError
        If mu is negative or NaN.
    """
    if not mu >= 0:
        raise ValueError(f"mu must be at least 0, got mu={mu}.")
    return 0.5 * mu * mu


def mu_of_zcdp(rho: float) -> float:
    """Mu of the Gaussian mechanism whose zero-concentrated parameter is rho.

    Parameters
    ----------
    rho : float
        At least 0.

    Returns
    -------
    float
        sqrt(2 rho).

    Raises
    ------
    ValueError
        If rho is negative or NaN.
    """
    if not rho >= 0:
        raise ValueError(f"rho must be at least 0, got rho={rho}.")
    return math.sqrt(2.0 * rho)


def compose_zcdp(rhos: Iterable[float]) -> float:
    """Add up zero-concentrated parameters, adaptively composed.

    Parameters
    ----------
    rhos : iterable of float
        Each at least 0.

    Returns
    -------
    float
        Their sum, rounded once.

    Raises
    ------
    ValueError
        If one is negative or NaN.
    """
    values = tuple(rhos)
    for rho in values:
        if not rho >= 0:
            raise ValueError(f"each rho must be at least 0, got {rho}.")
    return math.fsum(values)


def compose_rdp(curves: Iterable[Curve]) -> Curve:
    """Compose Renyi curves, adaptively or not: they add up at every order (Mironov 2017, proposition 1).

    Parameters
    ----------
    curves : iterable of callable
        Bound of each mechanism, as a function of the order.

    Returns
    -------
    callable
        Bound of the composition.
    """
    parts = tuple(curves)
    return lambda order: math.fsum(curve(order) for curve in parts)


def between_integers(curve: Curve, order: float) -> float:
    """Bound a Renyi divergence at a real order from its neighbours of whole order.

    (order - 1) D_order is convex in the order and 0 at order 1, so it lies below its chord.
    """
    check_order(order)
    low = math.floor(order)
    if low == order:
        return curve(low)
    part = order - low
    below = 0.0 if low == 1 else (low - 1) * curve(low)
    return ((1.0 - part) * below + part * low * curve(low + 1)) / (order - 1.0)
