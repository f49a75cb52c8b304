"""Checks of lines of the boxes by the text's definitions: node sums, Algorithm 1's update, Lemma 11's sequence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dpverify.harness import (
    Budget,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    RuleCheck,
    of_variant,
)
from dpverify.harness.search.derived_checks import compare_coefficients
from dpverify.kernels.epochs import draw_schedule
from dpverify.kernels.tape import generator, normal_tape
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.algorithms.dp_nsgd.optimizer import DpNsgd
from dpverify.papers.tran2022.algorithms.parameters import Parameters
from dpverify.papers.tran2022.algorithms.tree_noise import literal as tree_noise_literal
from dpverify.papers.tran2022.boxes.box_indices_bounds import made_nodes
from dpverify.papers.tran2022.identities.combinations_bounds import (
    Ordering,
    in_gradients,
    in_words,
    literal_output,
    paper_functions,
    printed_output,
)
from dpverify.problems.worst_cases import ClippedQuadratic
from dpverify.symbolic.exact.combinations import Combination, term
from dpverify.symbolic.exact.numbers import ONE, to_value

CHECKS = PaperChecks("tran2022", __name__)

ALPHA = Fraction(2, 5)
GAMMA = Fraction(1, 3)


def _nodes(budget: Budget) -> Iterable[dict[str, Any]]:
    longest = {"smoke": 16, "standard": 48, "full": 96}[budget.name]
    for t in range(1, longest + 1):
        for y, z in made_nodes(t):
            for n in range(1, 7):
                yield {
                    "N": n,
                    "t": z,
                    "low_bits": (z - y + 1).bit_length() - 1,
                    "alpha": ALPHA,
                }


def _box_node(
    family: str, ordering: Ordering, y: int, z: int, late: int
) -> Combination:
    """Return the box's sum for one node; all steps i use the epoch q of z, or an epoch ``late`` epochs earlier."""
    beta = to_value(1 - ALPHA)
    n = ordering.n_examples
    total = Combination({})
    for i in range(y, z + 1):
        q = ordering.epoch(z) - late
        example = ordering.example(
            q * n + (i - ordering.first_step) % n + ordering.first_step
        )
        anchor = term("anchor", q, example)
        summand = {
            "G": anchor,
            "Delta": anchor - term("anchor", q - 1, example),
            "r": term("iterate", i, example) - anchor,
        }[family]
        total = total + (beta ** (z - i) if z > i else ONE) * summand
    return total


def _node_sum(
    family: str, point: Point, statement: Statement, late: int = 0
) -> Outcome:
    """Compare the box's node sum with the definition of section 4 and appendix E.1."""
    n = int(point["N"])
    z = int(point["t"])
    y = z - 2 ** int(point["low_bits"]) + 1
    ordering = Ordering(
        "once" if statement.reading["ordering"] == "once" else "reversed", n
    )
    defined = paper_functions(ordering, ALPHA)[f"{family}_win"](y, z)
    return compare_coefficients(
        _box_node(family, ordering, y, z, late), defined, in_words
    )


def _node_check(claim: str, family: str) -> RuleCheck:
    return RuleCheck(
        claim,
        "node-sums",
        points=_nodes,
        is_satisfied=partial(_node_sum, family),
        variants=("printed", "held"),
        planted=[
            Planted(
                "q one epoch late",
                is_satisfied=partial(_node_sum, family, late=1),
                at_declared_size=True,
            )
        ],
        region="nodes that end by step 16 (smoke), 48, 96; N up to 6; alpha = 2/5; odd epochs reversed where fresh",
        interior=lambda p: p["N"] >= 3 and p["t"] - 2 ** p["low_bits"] >= 2,
    )


def _steps(_: Budget) -> Iterable[dict[str, Any]]:
    return (
        {"t": t, "alpha": alpha}
        for t in range(1, 12)
        for alpha in (Fraction(1, 2), ALPHA, Fraction(1), Fraction(1, 64))
    )


def _full_sequence(point: Point, *, first_apart: bool) -> Outcome:
    """Compare g_t of the recursion, g_1 = grad F(w_1), with the printed sum or the corrected one (``first_apart``)."""
    t = int(point["t"])
    alpha = point["alpha"]
    functions = paper_functions(Ordering("free", 3), alpha)
    beta = to_value(1 - alpha)
    full = functions["full_grad"]
    expected = Combination({})
    for i in range(1, t + 1):
        weight = ONE if first_apart and i == 1 else to_value(alpha)
        expected = expected + (beta ** (t - i) if t > i else ONE) * weight * full(i)
    return compare_coefficients(functions["full_momentum"](t), expected, in_words)


def _updated(point: Point, *, assigned: bool) -> Outcome:
    """Compare m-hat_t of Algorithm 4, in gradients, with m_t; without assignment G-hat does not change in the loop."""
    n = int(point["N"])
    t = int(point["t"])
    nodes = (literal_output if assigned else printed_output)(t, n, ALPHA, GAMMA)
    functions = paper_functions(Ordering("once", n), ALPHA)
    return compare_coefficients(
        in_gradients(nodes, functions), functions["momentum"](t), in_words
    )


def _follows_box(point: Point, statement: Statement, *, fault: str = "") -> Outcome:
    """Compare the kernel's iterates with Algorithm 1's last lines in plain arithmetic, including the noise.

    The kernel takes the noise from a tape, or draws it. In the latter case it must be what NumPy draws from the seed.
    """
    n = int(point["N"])
    steps = int(point["T"])
    d = 3
    seed = 5
    rng = np.random.default_rng(n)
    problem = ClippedQuadratic(rng.normal(size=(n, d)) + 2.0, 1.0, 2.0, 10.0)
    drawn_inside = point["drawn"] == 1
    tape = (
        normal_tape(generator(seed, 1), steps, d)
        if drawn_inside
        else rng.normal(size=(steps, d))
    )
    parameters = Parameters(steps=steps, alpha=0.2, eta=0.05, sigma=0.02, lipschitz=1.0)
    data = problem.example_gradient, problem.x, problem.y, problem.start
    run = DpNsgd(
        *data, parameters, seed=seed, tape=None if drawn_inside else tape, keep=True
    )
    run.advance()
    depth = steps.bit_length()
    nodes = tree_noise_literal.nodes_of_tape(
        tape, depth=depth, scale=run.node_deviation
    )
    noise = tree_noise_literal.noise_from_nodes(nodes, steps, depth=depth, alpha=0.2)
    w = problem.start.copy()
    m = np.zeros(d)
    drawn = draw_schedule(n, steps, "fresh", seed)
    for t in range(1, steps + 1):
        off = float(np.abs(run.iterates[t - 1] - w).max())
        if off > 1e-11:
            return Outcome(False, note=f"w_{t} is off by {off:.3g}")
        away = w - problem.x[drawn[t - 1]]
        r = float(np.linalg.norm(away))
        m = 0.8 * m + 0.2 * away * min(2.0, 1.0 / r)
        m_hat = m + (0.0 if fault == "noise-left-out" else noise[t - 1])
        w = w - 0.05 * (m if fault == "update-by-m" else m_hat) / np.linalg.norm(m_hat)
    return Outcome(True)


def _planted_update(fault: str) -> Planted:
    return Planted(
        fault,
        is_satisfied=partial(_follows_box, fault=fault),
        at_declared_size=fault == "update-by-m",
    )


def _variants(
    rule: Callable[..., Outcome], keyword: str
) -> Callable[[Point, Statement], bool | Outcome | None]:
    """Return a rule that passes False for ``keyword`` if the variant is printed, and True if it is corrected."""
    return of_variant(
        lambda p, _: rule(p, **{keyword: False}),
        lambda p, _: rule(p, **{keyword: True}),
    )


CHECKS.add(
    _node_check("algorithm-2-g-nodes", "G"),
    _node_check("algorithm-2-r-nodes", "r"),
    _node_check("algorithm-2-delta-nodes", "Delta"),
    RuleCheck(
        "lemma-11-initial",
        "coefficients",
        points=_steps,
        is_satisfied=_variants(_full_sequence, "first_apart"),
        planted=[
            Planted(
                "alpha before the first",
                is_satisfied=lambda p, _: _full_sequence(p, first_apart=False),
                at_declared_size=True,
            )
        ],
        interior=lambda p: p["t"] >= 3 and p["alpha"] < 1,
    ),
    RuleCheck(
        "algorithm-4-assignment",
        "result",
        points=lambda _: ({"N": n, "t": t} for t in range(1, 15) for n in range(1, 5)),
        is_satisfied=_variants(_updated, "assigned"),
        planted=[
            Planted(
                "no assignment",
                is_satisfied=lambda p, _: _updated(p, assigned=False),
                at_declared_size=True,
            )
        ],
        interior=lambda p: p["N"] >= 3 and p["t"] > 2 * p["N"],
    ),
    RuleCheck(
        "algorithm-1-update",
        "plain-arithmetic",
        points=lambda _: (
            {"N": n, "T": steps, "drawn": drawn}
            for n, steps in ((1, 5), (3, 20), (8, 64), (13, 77))
            for drawn in range(2)
        ),
        is_satisfied=_follows_box,
        about_kernel=True,
        planted=[_planted_update("update-by-m"), _planted_update("noise-left-out")],
        region="whole noisy runs on clipped quadratics against the box in plain arithmetic: w_{t+1} is made of w_t and "
        "m-hat_t alone, with noise from a tape and with noise that the kernel draws",
        leaves_out="floats: to 1e-11",
    ),
)
