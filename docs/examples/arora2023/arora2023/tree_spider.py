"""Tree-based private Spider, Algorithm 1 of arora2023: one pass over the data. Neighbours replace one example.

A round is a binary tree of depth D, whose nodes are visited from left to right. The root has the mean gradient of b
examples. A left child has the estimate of its parent. A right child of depth k adds the mean change, since its parent,
of the gradients of b/2^k new examples. At a leaf, w moves by beta/(2^(D/2) L_1) against the estimate. So each move
follows one release: that of the root, or of the last right child on the path to the leaf.

The vector of an example is not longer than lambda, which is L_0 at the root. Between a right child of depth k and its
parent, w moved 2^(D-k) times, so a change is at most 2^(D/2-k) beta. The run clips at this length, which changes
nothing if the paper's assumptions hold. Replacing an example moves one mean by at most 2 lambda/size, that is 2 L_0/b
or 2^(D/2) 2 beta/b, and the deviation of the noise is sigma times this bound. In lines 5 and 14, sigma is
sqrt(2 log(1.25/delta))/epsilon. An example is in one batch only, and everything else is computed from releases, so the
run is one Gaussian mechanism.

dpverify train docs/examples/arora2023/arora2023/tree_spider.py:TREE_SPIDER --epsilon 2 --delta 1e-5
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Protocol

import numpy as np
from numpy.random import Generator

import dpverify as dv
from dpverify.algorithms import Algorithm, AuditTarget, NoisySettings, ProblemSize, SettingInfo
from dpverify.algorithms.audited import gaussian_target
from dpverify.algorithms.settings import whole
from dpverify.conform import Release
from dpverify.kernels import check
from dpverify.kernels.jit import kernel
from dpverify.kernels.tape import Seed
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.kernels.vector import norm
from dpverify.privacy.batches import opposed
from dpverify.privacy.participation import Bounds
from dpverify.problems.example_gradients import BatchOracle, clipped
from dpverify.problems.regression import Regression, recursive_gradient
from dpverify.problems.sampled_run import SampledRun

LIPSCHITZ: Final = 1.0  # L_0 for rows of length 1, without the regularizer, which depends on no example


class Gradients(BatchOracle, Protocol):
    """An oracle of batch means whose clip lengths the run changes."""

    clip: float
    change_clip: float


@dataclass(frozen=True)
class TreeParameters:
    """Parameters of a run: D, b, beta, L_1, sigma, 2 alpha_tilde (at which a run stops), and L_0."""

    depth: int
    first_batch: int
    beta: float
    smoothness: float
    sigma: float
    stop: float = 0.0
    lipschitz: float = LIPSCHITZ


@kernel
def visit(k: int, std: float, mean: Vector, unit: Vector, w: Vector, points: Matrix, estimates: Matrix) -> None:
    """Compute the estimate of a node of depth k for it and its left descendants; ``points`` (D + 1, d)."""
    for j in range(w.shape[0]):
        value = mean[j] + std * unit[j]
        if k > 0:
            value += estimates[k - 1, j]
        for depth in range(k, estimates.shape[0]):
            estimates[depth, j] = value
            points[depth, j] = w[j]


@kernel
def move(length: float, stop: float, estimate: Vector, w: Vector) -> bool:
    """Do lines 18 to 24 at a leaf, shapes (d,). Return whether the run continues."""
    size = norm(estimate)
    if size <= stop:
        return False
    for j in range(w.shape[0]):
        w[j] -= length / size * estimate[j]
    return True


@dataclass
class Tree:
    """State of Algorithm 1. ``w`` is changed in place."""

    parameters: TreeParameters
    w: Vector
    t: int = 0
    is_running: bool = True
    points: Matrix = field(init=False)
    estimates: Matrix = field(init=False)

    def __post_init__(self) -> None:
        self.points = np.zeros((self.parameters.depth + 1, len(self.w)))
        self.estimates = np.zeros_like(self.points)

    @property
    def node_depth(self) -> int:
        """Depth of the node whose release comes before the next move."""
        leaf = self.t % (1 << self.parameters.depth)
        return 0 if leaf == 0 else self.parameters.depth + 1 - (leaf & -leaf).bit_length()

    @property
    def bound(self) -> float:
        """The clip length lambda of the next node."""
        p = self.parameters
        k = self.node_depth
        return 2.0 ** (p.depth / 2.0 - k) * p.beta if k else p.lipschitz

    def deviation(self, size: int) -> float:
        """Return the standard deviation of each coordinate of the next noise, for a batch of this size."""
        return self.parameters.sigma * 2.0 * self.bound / size

    def step(self, gradients: Gradients, batch: Indices, unit: Vector) -> Vector:
        """Visit a node and move, with standard normal ``unit``, shape (d,). Return the noisy mean, the release."""
        p = self.parameters
        k = self.node_depth
        mean = np.zeros_like(self.w)
        std = self.deviation(len(batch))
        if k == 0:
            gradients.clip = self.bound
            gradients(self.w, batch, mean)
        else:
            gradients.change_clip = self.bound
            gradients.change(self.w, self.points[k - 1].copy(), batch, 0.0, mean)
        visit(k, std, mean, unit, self.w, self.points, self.estimates)
        estimate = self.estimates[-1]
        if not np.isfinite(estimate).all():
            raise check.ArgumentError("estimate", f"an infinite number or NaN at step {self.t}", "must stay finite")
        length = p.beta / (2.0 ** (p.depth / 2.0) * p.smoothness)
        self.is_running = self.is_running and move(length, p.stop, estimate, self.w)
        self.t += 1
        released: Vector = mean + std * unit
        return released


class TreeRun(SampledRun):
    """A run on n examples in a random order. Each example is in at most one batch."""

    def __init__(
        self, gradients: Gradients, examples: int, start: Vector, parameters: TreeParameters, steps: int, seed: Seed = 0
    ) -> None:
        vectors = 2 * parameters.depth + 6
        super().__init__(steps, examples, start, seed, vectors=vectors)
        self._gradients = gradients
        self.tree = Tree(parameters, self._w)
        self._order = self._batches.permutation(examples)
        self.used = 0
        self.released = np.zeros(len(start))

    def _walk(self, first: int, last: int) -> None:
        for t in range(first, last):
            if self.tree.is_running:
                size = self.tree.parameters.first_batch >> self.tree.node_depth
                batch = self._order[self.used : self.used + size]
                self.used += size
                unit = self._noise_rng.standard_normal(len(self._w))
                self.released = self.tree.step(self._gradients, batch, unit)
            self._moved(t + 1)


class TreeSpiderSettings(NoisySettings, frozen=True, kw_only=True):
    """Settings of Algorithm 1. A step is a move at a leaf; a round has 2^D steps."""

    depth: Annotated[int, SettingInfo("D", "Depth of a tree.", whole(1, 40), default="the largest for which b fits")]
    first_batch: Annotated[
        int, SettingInfo("b", "Batch size at a root, a multiple of 2^D.", whole(2), default="D 2^(D+1)")
    ]
    beta: Annotated[
        float, SettingInfo("beta", "2^(D/2) L_1 times the length of a step.", check.positive, default="sqrt(2)/N^(1/3)")
    ]
    stop: Annotated[float, SettingInfo("2 alpha", "Norm of an estimate that ends a run.", check.not_negative)] = 0.0


class TreeSpider(Algorithm[TreeSpiderSettings]):
    """Algorithm 1 of arora2023."""

    name = "tree-spider"
    summary = "One pass: gradients at the root of a tree, changes at its right children (Algorithm 1 of arora2023)."
    settings = TreeSpiderSettings
    needs_lipschitz = True  # L_1 follows from the bound on rows

    def complete(self, request: Mapping[str, Any], examples: int) -> TreeSpiderSettings:
        """Return all settings; the number of steps is limited by the number of examples."""
        depth = request.get("depth", default_depth(examples))
        b = request.get("first_batch", depth << (depth + 1))
        if b % (1 << depth) or 2 * examples < b * (2 + depth):
            raise check.ArgumentError("first_batch", b, f"must be a multiple of {1 << depth}, with b (1 + D/2) <= N")
        most = 2 * examples // (b * (2 + depth)) << depth
        fixed = {"steps": min(most, request.get("steps", most)), "depth": depth, "first_batch": b}
        return self.filled(request, {"beta": math.sqrt(2.0) / examples ** (1.0 / 3.0)}, **fixed)

    def gradients_per_step(self, settings: TreeSpiderSettings, examples: int) -> int:
        """Return the mean over a tree; each example of a right child needs two gradients."""
        return max(1, round(settings.first_batch * (1 + settings.depth) / (1 << settings.depth)))

    def start(self, problem: Regression, settings: TreeSpiderSettings) -> TreeRun:
        s = settings
        p = TreeParameters(s.depth, s.first_batch, s.beta, problem.smoothness, s.sigma, s.stop)
        gradients: Any = recursive_gradient(problem, LIPSCHITZ)
        return TreeRun(gradients, len(problem.x), problem.start, p, s.steps, s.seed)

    def noise(self, problem: Regression, settings: TreeSpiderSettings) -> tuple[dict[str, float], dict[str, float]]:
        unit = 2.0 * settings.sigma / settings.first_batch
        return {}, {"root": unit * LIPSCHITZ, "right child": unit * 2.0 ** (settings.depth / 2.0) * settings.beta}

    def epsilon(self, settings: TreeSpiderSettings, size: ProblemSize, delta: float) -> float:
        return self.epsilon_bounds(settings, size, delta).upper

    def epsilon_bounds(self, settings: TreeSpiderSettings, size: ProblemSize, delta: float) -> Bounds:
        return dv.epsilon(settings.sigma, delta)

    def sigma(self, settings: TreeSpiderSettings, size: ProblemSize, epsilon: float, delta: float) -> float:
        return dv.sigma(epsilon, delta)

    def audit_target(self, delta: float) -> AuditTarget:
        """Return an audit of roots with four examples, whose gradients have length L_0, at sigma = 2."""
        p = TreeParameters(1, 4, 1.0, 1.0, 2.0)

        def mechanism(signs: Vector, rng: Generator, size: int) -> Vector:
            rows = GivenRows(signs[:, None])
            batch = np.arange(4)
            roots = (Tree(p, np.zeros(1)).step(rows, batch, rng.standard_normal(1)) for _ in range(size))
            return np.concatenate(list(roots)) * 2.0

        return gaussian_target("the root of a tree of Algorithm 1, b = 4, sigma = 2", mechanism, opposed(4), 0.5, delta)

    def conformance(self) -> tuple[dv.PrivateOptimizer, dv.Promise]:
        """Return the steps of two trees of depth 2, and their promise; the given rows are gradients or changes."""
        p = TreeParameters(2, 32, 0.3, 1.0, 2.0, lipschitz=0.7)

        def start() -> Tree:
            return Tree(p, np.zeros(8))

        def step(state: Tree, gradients: Matrix, rng: Generator) -> tuple[Tree, Release]:
            bound = state.bound
            size = len(gradients)
            released = state.step(GivenRows(gradients), np.arange(size), rng.standard_normal(8))
            return state, Release(released * size, clip_length=bound)

        promise = dv.Promise(
            sigma=2.0 * p.sigma, clip=p.lipschitz, adaptive_clip=True, sampling="batches", neighbours="replace-one"
        )
        return dv.PrivateOptimizer(step, start=start), promise


class GivenRows:
    """An oracle with the given rows as gradients or as their changes, which are clipped."""

    def __init__(self, rows: Matrix) -> None:
        self.rows = rows
        self.clip = math.inf
        self.change_clip = math.inf

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the mean of the clipped rows."""
        out[:] = clipped(self.rows[batch], self.clip).mean(axis=0)

    def change(self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector) -> None:
        """Write the mean of the clipped rows."""
        out[:] = clipped(self.rows[batch], self.change_clip).mean(axis=0)


def default_depth(examples: int) -> int:
    """Return the largest D for which b = D 2^(D+1) is at most N^(2/3), but at least 1."""
    depth = 1
    while (depth + 1) << (depth + 2) <= examples ** (2.0 / 3.0):
        depth += 1
    return depth


TREE_SPIDER: Final = TreeSpider()
