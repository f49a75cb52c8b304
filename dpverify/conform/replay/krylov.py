"""Noise that makes a step release a given vector, from few steps: a Krylov method, with a step as the linear map."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

ALL_DIRECTIONS = 512  # up to this dimension the system is solved for any map, in so many steps at most
DIRECTIONS = 24  # in larger dimensions: enough for noise that is scaled in up to so many layers
ROUNDS = 4  # of corrections, each of which starts at what the last one left
SMALL = 1e-12  # of an image, below which a new direction is rounding
ENOUGH = 1e-14  # relative size of what may be left


def solve_noise(release: Callable[[Any], Any], noise: Any, target: Any, released: Any) -> Any:
    """Return noise for which about ``target`` is released.

    ``release`` is affine in the noise and gives ``released`` for ``noise``. Each round applies GMRES (Saad and Schultz,
    1986) to what is left. If each number of noise is scaled by one of k factors, k directions are enough. If the map
    is not affine, or not onto, the result releases another vector, as the caller must check.
    """
    best = noise
    left = target - released
    directions = len(noise) if len(noise) <= ALL_DIRECTIONS else DIRECTIONS
    enough = ENOUGH * float(np.abs(target).max())
    for _ in range(ROUNDS):
        size = float(np.abs(left).max())
        if size <= enough:
            break
        moved = best + _gmres(release, best, target - left, left, directions)
        residual = target - release(moved)
        if not np.abs(residual).max() < size:
            break
        best = moved
        left = residual
    return best


def _gmres(release: Callable[[Any], Any], noise: Any, base: Any, left: Any, directions: int) -> Any:
    """Return the change of the noise, in so many directions, that comes nearest to changing ``base`` by ``left``.

    Each direction is as long as noise is, so that no precision hides what it changes.
    """
    length = math.sqrt(len(left))
    size = float(np.linalg.norm(left))
    basis = [left / size]
    columns = np.zeros((directions + 1, directions))
    aim = np.zeros(directions + 1)
    aim[0] = size
    weights: Any = np.zeros(0)
    for k in range(directions):
        image = (release(noise + length * basis[k]) - base) / length
        scale = float(np.linalg.norm(image))
        if not math.isfinite(scale):
            return np.full_like(left, np.nan)
        for _ in range(2):  # once more removes what rounding has left
            for row, vector in enumerate(basis):
                part = float(vector @ image)
                columns[row, k] += part
                image = image - part * vector
        columns[k + 1, k] = float(np.linalg.norm(image))
        weights = np.linalg.lstsq(columns[: k + 2, : k + 1], aim[: k + 2], rcond=None)[0]
        residual = float(np.linalg.norm(columns[: k + 2, : k + 1] @ weights - aim[: k + 2]))
        if not columns[k + 1, k] > SMALL * scale or residual <= ENOUGH * size:
            break
        basis.append(image / columns[k + 1, k])
    return sum(weight * vector for weight, vector in zip(weights, basis, strict=False))
