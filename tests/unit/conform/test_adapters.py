"""Adapters for libraries: each loads, and releases what the page of peers says, where that is cheap to test."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverify.conform import PrivateOptimizer, Promise
from dpverify.conform.peers.page import PEERS_PAGE
from dpverify.conform.peers.records import SEVERITIES
from dpverify.targets import load_function
from tests.for_each import for_each

ROOT = Path(__file__).parents[3]
PEERS = ROOT / "docs" / "examples" / "peers"
SCRIPTS = {
    "dp_auditorium_coverage",
    "dp_auditorium_testing",
    "dp_recorder_auditing",
    "jax_auditing",
    "jax_coverage",
    "jax_matrix_sensitivity",
    "known_mistakes",
}
"""Files that are run and give no optimizer to conform."""
ADAPTERS = sorted(path.stem for path in PEERS.glob("*.py") if path.stem not in SCRIPTS)
LIBRARIES = {
    "diffprivlib_audit": "diffprivlib.models",
    "flower_adaptive": "flwr",
    "flower_clients": "flwr",
    "flower_strategy": "flwr",
    "jax_privacy_optimizer": "jax_privacy",
    "nvflare_audit": "nvflare",
    "opacus_batches": "opacus",
    "opacus_optimizer": "opacus",
    "opacus_training": "opacus",
    "opendp_measurement": "opendp",
    "optax_optimizer": "optax",
    "pydp_audit": "pydp",
    "pyvacy_optimizer": "pyvacy.optim",
    "tensorflow_privacy_optimizer": "tensorflow_privacy",
}


def loaded(name: str, function: str) -> Any:
    """Return a function of an adapter, or skip the test if its library is not installed."""
    pytest.importorskip(LIBRARIES[name], exc_type=ImportError)
    return load_function(f"{PEERS / name}.py:{function}")[0]


def functions(name: str) -> list[str]:
    """Return the names of the functions in an adapter."""
    tree = ast.parse((PEERS / f"{name}.py").read_text("utf-8"))
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]


def test_every_adapter_is_short_and_has_a_library() -> None:
    assert list(LIBRARIES) == ADAPTERS
    assert (
        max(
            len((PEERS / f"{name}.py").read_text("utf-8").splitlines())
            for name in ADAPTERS
        )
        <= 60
    )


@pytest.fixture
def _shared_generator() -> Iterator[None]:
    """Restore numpy's global generator, from which Flower draws its noise."""
    state = np.random.get_state()  # noqa: NPY002
    yield
    np.random.set_state(state)  # noqa: NPY002


MADE = [
    (name, function)
    for name in ADAPTERS
    for function in functions(name)
    if function.startswith("make") and name not in ("opacus_batches", "opacus_training")
]


@pytest.mark.usefixtures("_shared_generator")
@pytest.mark.filterwarnings("ignore")  # of the libraries, about their own next releases
@for_each(("name", "function"), MADE)
def test_every_optimizer_of_an_adapter_takes_a_step(name: str, function: str) -> None:
    optimizer, promise = loaded(name, function)()
    assert isinstance(optimizer, PrivateOptimizer)
    assert isinstance(promise, Promise)
    gradients = np.ones((promise.batch, promise.dimension))
    _, released = optimizer.step(optimizer.start(), gradients, np.random.default_rng(0))
    vector = np.asarray(getattr(released, "vector", released), dtype=float)
    assert vector.shape == (promise.dimension,)
    assert np.isfinite(vector).all()


@pytest.mark.filterwarnings("ignore")  # of the libraries, about their own next releases
def test_optax_is_infinite_on_an_empty_batch() -> None:
    optimizer, promise = loaded("optax_optimizer", "make_poisson")()
    _, released = optimizer.step(
        optimizer.start(), np.zeros((0, promise.dimension)), np.random.default_rng(0)
    )
    assert not np.isfinite(released).any()


@pytest.mark.filterwarnings("ignore")  # of the libraries, about their own next releases
def test_tensorflow_privacy_clips_each_example_and_is_infinite_on_an_empty_batch() -> (
    None
):
    optimizer, promise = loaded("tensorflow_privacy_optimizer", "make")()
    gradients = np.zeros((promise.batch, promise.dimension))
    changed = gradients.copy()
    changed[0, 0] = 1e3
    one, other = (
        optimizer.step(None, rows, np.random.default_rng(0))[1]
        for rows in (gradients, changed)
    )
    np.testing.assert_allclose(
        np.linalg.norm(other - one), promise.clip / promise.batch, rtol=1e-5
    )
    _, released = optimizer.step(None, gradients[:0], np.random.default_rng(0))
    assert not np.isfinite(released).any()


@pytest.mark.filterwarnings("ignore")  # of the libraries, about their own next releases
def test_the_regression_of_diffprivlib_shows_a_replaced_record() -> None:
    regression = loaded("diffprivlib_audit", "regression")
    rng = np.random.default_rng(0)
    zeros = np.zeros((10, 1))
    replaced = np.append(zeros[:-1], [[1.0]], axis=0)
    assert min(abs(regression(zeros, rng)[0]) for _ in range(10)) > 100
    assert max(abs(regression(replaced, rng)[0]) for _ in range(10)) < 20


@pytest.mark.filterwarnings("ignore")  # of the libraries, about their own next releases
def test_pyvacy_clips_the_mean_and_not_each_example() -> None:
    optimizer, promise = loaded("pyvacy_optimizer", "make")()
    gradients = np.zeros((promise.batch, promise.dimension))
    changed = gradients.copy()
    changed[0, 0] = 1e3
    one, other = (
        optimizer.step(None, rows, np.random.default_rng(0))[1]
        for rows in (gradients, changed)
    )
    assert np.linalg.norm(other - one) > 10 * promise.sensitivity


def test_the_page_has_ten_libraries_and_severities_of_all_that_was_found() -> None:
    run = PEERS_PAGE.read(ROOT / "reports")
    assert run is not None
    adapted = [
        peer
        for peer in run.peers
        if Path(peer.target.partition(":")[0]).stem in ADAPTERS
    ]
    named = [peer.target.partition(":") for peer in adapted]
    assert all(function in functions(Path(path).stem) for path, _, function in named)
    assert (
        len({LIBRARIES[Path(path).stem].partition(".")[0] for path, _, _ in named})
        >= 10
    )
    assert all(peer.severity in SEVERITIES for peer in adapted if peer.failed)
