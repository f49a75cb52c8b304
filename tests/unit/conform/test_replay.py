"""Noise of every library is played back from a tape, what was replaced is put back, and other sources are named."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest

from dpverify.conform import Conformance, PrivateOptimizer, conformance
from dpverify.conform.guard import replay_normals
from dpverify.conform.replay.generators import (
    Tape,
    generators_restored,
    used_generators,
)
from dpverify.conform.replay.patches import replace_function
from tests.unit.conform.backends import BACKENDS
from tests.unit.conform.catalogue import (
    BATCH,
    CLIP,
    SIGMA,
    clipped,
    mistakes,
    promise,
    right,
)

SHORT = promise(steps=3, dimension=3)
NUMBERS = [1.0, 2.0, 4.0]
GENERATOR = np.random.default_rng(3)
STATE = np.random.RandomState(3)
legacy_normal = np.random.normal
gauss = random.gauss

NUMPY: dict[str, Callable[[], Any]] = {
    "generator made before": lambda: GENERATOR.standard_normal(3),
    "generator without a seed": lambda: np.random.default_rng().normal(0.0, 1.0, 3),
    "generator of a child": lambda: Tape([]).spawn(1)[0].standard_normal(3),
    "several deviations": lambda: GENERATOR.normal(0.0, np.ones(3)),
    "out": lambda: GENERATOR.standard_normal(out=np.empty(3)),
    "multivariate": lambda: np.sort(
        np.abs(GENERATOR.multivariate_normal(np.zeros(3), np.eye(3)))
    ),
    "RandomState": lambda: STATE.normal(size=3),
    "RandomState.randn": lambda: STATE.randn(3),
    "numpy.random.normal": lambda: legacy_normal(0.0, 1.0, 3),
    "numpy.random.randn": lambda: np.random.randn(3),  # noqa: NPY002
    "numpy.random.standard_normal": lambda: np.random.standard_normal(3),  # noqa: NPY002
    "random.gauss": lambda: [gauss(0.0, 1.0) for _ in range(3)],
    "normalvariate": lambda: [random.Random(1).normalvariate() for _ in range(3)],
    "SystemRandom": lambda: [random.SystemRandom().gauss() for _ in range(3)],
}


def _torch() -> dict[str, Callable[[], Any]]:
    torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    generator = torch.Generator().manual_seed(1)
    zero = torch.zeros(3, dtype=torch.float64)
    randn = torch.randn
    return {
        "randn": lambda: randn(3, dtype=torch.float64),
        "randn with a generator": lambda: randn(3, generator=generator),
        "randn_like": lambda: torch.randn_like(zero),
        "normal_": lambda: torch.empty(3).normal_(mean=0.0, std=1.0),
        "normal_ with a generator": lambda: torch.empty(3).normal_(generator=generator),
        "normal": lambda: torch.normal(0.0, 1.0, (3,), generator=generator),
        "normal of tensors": lambda: torch.normal(zero, zero + 1.0),
        "normal of a tensor": lambda: torch.normal(zero, 1.0),
        "Normal": lambda: torch.distributions.Normal(zero, zero + 1.0).sample(),
        "rsample": lambda: torch.distributions.Normal(zero, zero + 1.0).rsample(),
        "init": lambda: torch.nn.init.normal_(torch.empty(3)),
    }


def _jax() -> dict[str, Callable[[], Any]]:
    jax = pytest.importorskip("jax", reason="the extra `jax` is not installed")
    jax.config.update("jax_enable_x64", True)
    key = jax.random.key(1)
    stored = partial(jax.random.normal, shape=(3,))
    compiled = jax.jit(lambda key: jax.random.normal(key, (3,)))
    compiled(key)

    def default(key: Any, sampler: Any = jax.random.normal) -> Any:
        return sampler(key, (3,))

    return {
        "normal": lambda: jax.random.normal(key, (3,)),
        "partial": lambda: stored(key),
        "default value": lambda: default(key),
        "compiled": lambda: compiled(key),
        "multivariate": lambda: np.sort(
            jax.random.multivariate_normal(key, np.zeros(3), np.eye(3))
        ),
    }


SOURCES: dict[str, Callable[[], dict[str, Callable[[], Any]]]] = {
    "numpy": lambda: NUMPY,
    "torch": _torch,
    "jax": _jax,
}


@pytest.fixture(autouse=True)
def _kept() -> Iterator[None]:
    with generators_restored():
        yield


@pytest.mark.parametrize("library", SOURCES)
def test_normal_numbers_come_from_the_tape_and_afterwards_from_their_generators(
    library: str,
) -> None:
    for name, draw in SOURCES[library]().items():
        tape = Tape(NUMBERS)
        with replay_normals(tape):
            found = np.asarray(draw())
        np.testing.assert_allclose(found, NUMBERS, err_msg=name)
        assert tape.position == 3
        assert not np.allclose(np.asarray(draw()), NUMBERS), name


def _references() -> list[Any]:
    methods = [
        np.random.Generator.standard_normal,
        np.random.Generator.normal,
        np.random.RandomState.normal,
    ]
    return [*methods, np.random.normal, random.Random.gauss.__code__]


def test_everything_is_put_back_if_foreign_code_raises() -> None:
    before = _references()

    def fail() -> None:
        with replay_normals(Tape([])):
            assert _references() != before
            raise SystemExit

    with pytest.raises(SystemExit):
        fail()
    assert _references() == before


def test_a_function_of_another_kind_stays_as_it_is() -> None:
    with replace_function(len, lambda _: 7):
        assert len("ab") == 2


def test_no_library_is_loaded_for_its_noise() -> None:
    code = """
import sys
from dpverify.conform.guard import replay_normals
from dpverify.conform.replay.generators import Tape
with replay_normals(Tape([])):
    pass
assert not {"torch", "jax"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


Draw = Callable[[int], Any]


def with_noise(
    draw: Draw, *, remembers: float = 0.0, clip: float = CLIP
) -> PrivateOptimizer:
    """Return an optimizer whose noise comes from elsewhere; it may remember clean gradients."""

    def step(state: Any, g: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        old = remembers * (0.0 if state is None else state) + clipped(g, clip).sum(
            axis=0
        )
        return old, (old + SIGMA * CLIP * np.asarray(draw(g.shape[1]))) / BATCH

    return PrivateOptimizer(step)


SHARED: dict[str, Draw] = {
    "numpy.random": np.random.randn,
    "random": lambda d: [random.gauss(0.0, 1.0) for _ in range(d)],
    "torch": lambda d: sys.modules["torch"].randn(
        d, dtype=sys.modules["torch"].float64
    ),
}


@contextmanager
def unchanged(name: str) -> Iterator[None]:
    """Assert that a block leaves the shared generator of a library as it was."""
    states: dict[str, Callable[[], Any]] = {
        "numpy.random": lambda: np.random.get_state(legacy=False)["state"]["pos"],  # noqa: NPY002
        "random": random.getstate,
        "torch": lambda: sys.modules["torch"].get_rng_state().tolist(),
    }
    before = states[name]()
    yield
    assert states[name]() == before


@pytest.mark.parametrize("name", SHARED)
def test_a_shared_generator_is_seeded_before_each_step_and_left_as_it_was(
    name: str,
) -> None:
    if name == "torch":
        pytest.importorskip("torch", reason="the extra `torch` is not installed")
    with unchanged(name):
        found = conformance(with_noise(SHARED[name]), SHORT)
    assert found, str(found)
    assert f"the shared generator of {name}" in found.tests[0].found
    wrong = conformance(with_noise(SHARED[name], remembers=0.5), SHORT)
    assert [test.name for test in wrong.failed] == ["state"]


def test_a_generator_of_torch_that_nothing_else_shares_is_no_shared_one() -> None:
    torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    before = torch.get_rng_state()
    assert used_generators(lambda: torch.randn(3, generator=torch.Generator())) == []
    with generators_restored():
        assert [one.name for one in used_generators(lambda: torch.randn(3))] == [
            "torch"
        ]
    assert torch.equal(torch.get_rng_state(), before)


def test_noise_of_a_private_generator_is_replaced_where_runs_with_equal_noise_are_needed() -> (
    None
):
    def private(d: int) -> Any:
        return GENERATOR.standard_normal(d)

    first, *others = conformance(with_noise(private), SHORT).tests
    assert (first.name, first.status) == ("generator", "fault")
    assert {test.status for test in others} == {"ok"}
    too_long = conformance(with_noise(private, clip=1.1 * CLIP), SHORT).failed
    assert [test.name for test in too_long] == ["generator", "sensitivity"]
    state = conformance(with_noise(private, remembers=0.5), SHORT).failed
    assert [test.name for test in state] == ["generator", "state"]


def of_system(d: int) -> Any:
    """Normal numbers from random bytes of the operating system, by Box and Muller."""
    bits = np.frombuffer(os.urandom(16 * d), dtype=np.uint64).reshape(2, d)
    one, two = (bits.astype(float) + 0.5) / 2.0**64
    return np.sqrt(-2.0 * np.log(one)) * np.cos(2.0 * math.pi * two)


def test_randomness_of_the_system_is_named_first_and_what_needs_equal_noise_is_not_tested() -> (
    None
):
    found = conformance(with_noise(of_system, clip=2.0 * CLIP), SHORT)
    assert [test.name for test in found.failed] == ["generator"]
    assert "os.urandom" in found.tests[0].found
    assert [test.name for test in found.not_tested] == ["sensitivity", "state"]
    assert "shape of noise" in {test.name for test in found.tests if test.passed}
    lines = str(found).splitlines()
    assert lines[0].startswith("FAULT  generator")
    assert "2 could not be run" in str(found)


def released_momentum(state: Any, g: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """Correct, but the average of earlier releases hides what the state test looks at: its noise is no normal draw."""
    uniform = rng.random((2, g.shape[1]))
    noise = np.sqrt(-2.0 * np.log(uniform[0])) * np.cos(2.0 * math.pi * uniform[1])
    released = (clipped(g).sum(axis=0) + SIGMA * CLIP * noise) / BATCH
    old = 0.0 if state is None else state
    return 0.9 * old + released, released + 1e-4 * old


def test_a_result_without_a_fault_but_with_a_test_that_was_not_run_is_incomplete() -> (
    None
):
    found: Conformance = conformance(PrivateOptimizer(released_momentum), SHORT)
    assert not found.failed
    assert [test.name for test in found.not_tested] == ["state"]
    assert not found
    assert str(found).startswith("Incomplete: 1 of")
    assert "not tested: state" in found._repr_html_()


def test_noise_that_is_drawn_after_other_normal_numbers_is_replayed() -> None:
    def step(state: Any, g: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        old = 0.5 * (0.0 if state is None else state) + clipped(g).sum(axis=0)
        rng.standard_normal(11)  # weights of a model, for example
        return old, (old + SIGMA * CLIP * rng.standard_normal(g.shape[1])) / BATCH

    (test,) = conformance(PrivateOptimizer(step), SHORT).failed
    assert test.name == "state"


OF_THE_STATE = (
    "momentum of clean gradients",
    "the clip length of later steps follows the data",
    "gradients are centred on earlier ones, from the third step on",
)


@pytest.mark.slow
@pytest.mark.parametrize("library", BACKENDS)
def test_every_library_has_its_state_tested(library: str) -> None:
    pytest.importorskip(library)
    backend = BACKENDS[library]
    optimizer, _ = right()["DP-SGD"]
    found = conformance(backend.optimizer(optimizer), SHORT)
    assert found, str(found)
    for name in OF_THE_STATE:
        optimizer, promised = mistakes()[name]
        assert [
            test.name
            for test in conformance(backend.optimizer(optimizer), promised).failed
        ] == ["state"], name
