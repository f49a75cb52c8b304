"""Binary logistic regression with the nonconvex regularizer of the DP-SRM paper (Wang et al. 2019, section 6.1).

    F(w) = (1/n) sum_i [ -y_i log phi(<x_i, w>) - (1 - y_i) log(1 - phi(<x_i, w>)) ] +
    lam * sum_j w_j**2 / (1 + w_j**2)

with ``phi(z) = 1 / (1 + exp(-z))`` and labels y in {0, 1}. The paper prints "min" of
``y log phi + (1-y) log(1-phi)`` plus the regularizer. This lacks the minus sign of the
log-likelihood and has no minimum. We minimise the negative log-likelihood, as the name
of the problem and the paper's experiments imply.

With ``s = 1 - 2y``, the loss of an example is ``log(1 + exp(s z))`` and its slope is
``s * phi(s z)``. These forms avoid cancellation. The constants are derived in
``problems.logistic_bounds``.

The batch gradient clips the gradient of each example without storing it.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.random import Generator

from dpverify.kernels import check
from dpverify.kernels.clipping import clipped_sum, pad_rows, recursive_sum
from dpverify.kernels.jit import inner_kernel, kernel
from dpverify.kernels.tape import draw_batch, fill_normal
from dpverify.kernels.typing import ExampleGradient, Indices, Matrix, Vector
from dpverify.kernels.vector import norm
from dpverify.problems import logistic_bounds
from dpverify.problems.rows import check_rows, radius_of, row_norm_bounds, rows_within


@kernel
def sigmoid(z: float) -> float:
    """Return ``1 / (1 + exp(-z))`` without overflow or a branch; it is between 0 and 1 also after rounding."""
    e = math.exp(-abs(z))
    return (1.0 if z >= 0.0 else e) / (1.0 + e)


@kernel
def slope(z: float, y: float) -> float:
    """Return the derivative of an example's loss with respect to z = <x, w>; y in {0, 1}."""
    s = 1.0 - 2.0 * y
    return s * sigmoid(s * z)


@kernel
def log1pexp(z: float) -> float:
    """Return ``log(1 + exp(z))`` without overflow."""
    return max(z, 0.0) + math.log1p(math.exp(-abs(z)))


@kernel
def psi(t: float) -> float:
    """Return ``t**2 / (1 + t**2)``, the regularizer of one coordinate, or 1 if t**2 overflows."""
    u = t * t
    return u / (1.0 + u) if u < 1.0 else 1.0 / (1.0 + 1.0 / u)


@kernel
def psi_slope(t: float) -> float:
    """Return ``2 t / (1 + t**2)**2``, the derivative of ``psi``."""
    q = 1.0 + t * t
    return 2.0 * t / q / q


@kernel
def empirical_loss(w: Vector, x: Matrix, y: Vector, lam: float) -> float:
    """Return F(w); ``w`` (d,), ``x`` (n, d), ``y`` (n,) in {0, 1}."""
    total = 0.0
    for i in range(x.shape[0]):
        z = 0.0
        for j in range(x.shape[1]):
            z += x[i, j] * w[j]
        total += log1pexp((1.0 - 2.0 * y[i]) * z)
    penalty = 0.0
    for j in range(w.shape[0]):
        penalty += psi(w[j])
    mean: float = total / x.shape[0]
    return mean + lam * penalty


@kernel
def empirical_gradient(
    w: Vector, x: Matrix, y: Vector, lam: float, out: Vector
) -> None:
    """Write the gradient of F at ``w`` to ``out``, shape (d,)."""
    out[:] = 0.0
    for i in range(x.shape[0]):
        z = 0.0
        for j in range(x.shape[1]):
            z += x[i, j] * w[j]
        steep = slope(z, y[i])
        for j in range(x.shape[1]):
            out[j] += steep * x[i, j]
    for j in range(w.shape[0]):
        out[j] = out[j] / x.shape[0] + lam * psi_slope(w[j])


@lru_cache(maxsize=32)
def example_gradient(lam: float) -> ExampleGradient:
    """Return the kernel ``gradient(w, x_row, y, out)`` of one example; y in {0, 1}, all vectors of shape (d,)."""

    @inner_kernel
    def gradient(w: Vector, x_row: Vector, y: float, out: Vector) -> None:
        z = 0.0
        for j in range(w.shape[0]):
            z += x_row[j] * w[j]
        steep = slope(z, y)
        for j in range(w.shape[0]):
            out[j] = steep * x_row[j] + lam * psi_slope(w[j])

    return gradient


class LogisticRegression:
    """Nonconvex-regularized logistic regression on a data set; a ``Problem``.

    Parameters
    ----------
    x, y : (n, d) and (n,) array of float
        Rows and labels, 0 or 1.
    lam : float
        Weight of the regularizer, at least 0; the paper uses 0.001.
    radius : float or None
        B, an upper bound on the norm of every possible row. None uses the largest norm
        in this data set. The constants then depend on the data, and hold for a
        neighbour only if its new row is not longer.

    Raises
    ------
    ValueError
        If shapes or entries are wrong.
    """

    def __init__(
        self, x: Matrix, y: Vector, lam: float = 0.001, radius: float | None = None
    ) -> None:
        check_rows(x, y)
        if not np.isin(y, (0.0, 1.0)).all():
            raise ValueError(f"labels must be 0 or 1, got {np.unique(y)[:5].tolist()}.")
        self.x = np.ascontiguousarray(x, dtype=np.float64)
        self.y = np.ascontiguousarray(y, dtype=np.float64)
        self.lam = float(lam)
        self.radius = radius_of(x, radius, row_norm_bounds, rows_within)
        self.start = np.zeros(x.shape[1])
        self.lipschitz = logistic_bounds.lipschitz(self.radius, self.lam, x.shape[1])
        self.smoothness = logistic_bounds.smoothness(self.radius, self.lam)
        self.gap = logistic_bounds.gap_at_zero()

    @property
    def example_gradient(self) -> ExampleGradient:
        """Kernel ``gradient(w, x_row, y, out)`` of one example."""
        return example_gradient(self.lam)

    def loss(self, w: Vector) -> float:
        """Return the empirical risk F at ``w``, shape (d,)."""
        return empirical_loss(w, self.x, self.y, self.lam)

    def gradient(self, w: Vector) -> Vector:
        """Return the gradient of F at ``w``, shape (d,)."""
        out = np.empty_like(w)
        empirical_gradient(w, self.x, self.y, self.lam, out)
        return out


clipped_logistic = clipped_sum(slope)
recursive_logistic = recursive_sum(slope)


@kernel
def add_penalty(total: Vector, count: int, w: Vector, lam: float, out: Vector) -> None:
    """Write ``total / count`` plus the regularizer's gradient at ``w``, shape (d,), to ``out``."""
    for j in range(out.shape[0]):
        out[j] = total[j] / count + lam * psi_slope(w[j])


@kernel
def logistic_descent(
    rows: Matrix,
    order: Indices,
    size: int,
    clip: float,
    lam: float,
    etas: Vector,
    rhos: Vector,
    std: float,
    padded: Vector,
    total: Vector,
    w: Vector,
    old: Vector,
    mean: Vector,
    batches: Generator,
    noise: Generator,
    iterates: Matrix,
) -> int:
    """Do steps of noisy descent, and return the number of steps before a non-finite one.

    Shapes: ``etas``, ``rhos`` (T,); ``iterates`` (0 or T, d). ``w``, ``old`` and ``mean`` have shape (d,); ``old`` is
    the iterate before ``w``.
    """
    d = w.shape[0]
    padded[:] = 0.0
    for t in range(etas.shape[0]):
        for j in range(d):
            padded[j] = w[j]
        if size < order.shape[0]:
            draw_batch(batches, order, size)
        clipped_logistic(rows, order[:size], padded, clip, total)
        add_penalty(total, size, w, lam, mean)
        if std > 0.0:
            fill_normal(noise, padded[:d])
            for j in range(d):
                mean[j] += std * padded[j]
        if not math.isfinite(norm(mean)):
            return t
        for j in range(d):
            held = w[j]
            w[j] -= etas[t] * mean[j] - rhos[t] * (held - old[j])
            old[j] = held
        if iterates.shape[0] > 0:
            for j in range(d):
                iterates[t, j] = w[j]
    return len(etas)


class BatchGradient:
    """Mean over a batch of clipped gradients of the logistic loss, plus the gradient of the regularizer.

    The regularizer's gradient depends on no example. It is added after clipping, so
    replacing one example moves the mean over B examples by at most 2C/B for every
    regularizer.

    Parameters
    ----------
    problem : LogisticRegression
        The problem, whose data are copied to rows of whole cache lines.
    clip : float or None
        C, above 0, the clip length of each example's gradient of the logistic loss.
        None uses the problem's bound on the norms of rows. No such gradient is longer,
        so nothing is clipped.

    Raises
    ------
    ArgumentError
        If the data do not fit in memory, or C is not positive.
    """

    def __init__(self, problem: LogisticRegression, clip: float | None = None) -> None:
        bound = problem.radius if clip is None else check.positive(clip=clip)
        self.clip = bound if bound > 0.0 else 1.0  # all rows are 0
        self._lam, self._d = problem.lam, len(problem.start)
        self._rows = pad_rows(problem.x, problem.y)
        self._w, self._sum = (
            np.zeros(self._rows.shape[1]),
            np.zeros(self._rows.shape[1]),
        )
        self._mean = np.zeros(self._d)

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the gradient at ``w`` over a ``batch`` of at least one example to ``out``, shape (d,)."""
        self._w[: self._d] = w
        clipped_logistic(self._rows, batch, self._w, self.clip, self._sum)
        add_penalty(self._sum, len(batch), w, self._lam, out)

    def descend(
        self,
        order: Indices,
        size: int,
        etas: Vector,
        rhos: Vector,
        std: float,
        w: Vector,
        old: Vector,
        batches: Generator,
        noise: Generator,
        iterates: Matrix,
    ) -> int:
        """Do steps of noisy descent, as specified by ``CompiledDescent``."""
        data = self._rows, order, size, self.clip, self._lam, etas, rhos, std
        return int(
            logistic_descent(
                *data, self._w, self._sum, w, old, self._mean, batches, noise, iterates
            )
        )


class RecursiveGradient(BatchGradient):
    """``BatchGradient`` with the estimate at two points for the recursive momentum of DP-SRM; see ``kernels.clipping``.

    Parameters
    ----------
    problem, clip
        As in ``BatchGradient``.
    change_clip : float
        C', above 0, the clip length of the change of each example's gradient; an
        infinite value does not clip.
    """

    def __init__(
        self,
        problem: LogisticRegression,
        clip: float | None = None,
        change_clip: float = math.inf,
    ) -> None:
        super().__init__(problem, clip)
        self.change_clip = (
            change_clip
            if change_clip == math.inf
            else check.positive(change_clip=change_clip)
        )
        self._old, self._penalty = np.zeros_like(self._w), np.zeros(self._d)

    def change(
        self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector
    ) -> None:
        """Write the mean over ``batch`` of gamma grad f(new) + (1 - gamma) (grad f(new) - grad f(old)) to ``out``."""
        self._w[: self._d] = new
        self._old[: self._d] = old
        recursive_logistic(
            self._rows,
            batch,
            self._w,
            self._old,
            gamma,
            self.clip,
            self.change_clip,
            self._sum,
        )
        add_penalty(self._sum, len(batch), new, self._lam, out)
        if self._lam > 0.0 and gamma < 1.0:
            self._penalty[:] = 0.0
            add_penalty(self._penalty, 1, old, self._lam, self._penalty)
            out -= (1.0 - gamma) * self._penalty


@kernel
def logistic_losses(
    x: Matrix,
    y: Vector,
    w: Vector,
    direction: Vector,
    lengths: Vector,
    clip: float,
    out: Vector,
) -> None:
    """Write the mean of ``min(loss_i(w - length direction), clip)`` for each length, without the regularizer."""
    out[:] = 0.0
    for i in range(x.shape[0]):
        a = 0.0
        b = 0.0
        for j in range(x.shape[1]):
            a += x[i, j] * w[j]
            b += x[i, j] * direction[j]
        s = 1.0 - 2.0 * y[i]
        for k in range(lengths.shape[0]):
            out[k] += min(log1pexp(s * (a - lengths[k] * b)), clip)
    out /= x.shape[0]


def line_losses(
    problem: LogisticRegression,
    clip: float,
    w: Vector,
    direction: Vector,
    lengths: Vector,
) -> Vector:
    """Return the mean loss at ``w - length direction`` for each length, shape (K,); losses are clipped to [0, clip]."""
    out = np.zeros(len(lengths))
    logistic_losses(problem.x, problem.y, w, direction, lengths, clip, out)
    for k, length in enumerate(lengths):
        out[k] += problem.lam * sum(map(psi, (w - length * direction).tolist()))
    return out
