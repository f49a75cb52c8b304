"""Gradients of a network by example, against plain backward passes; clipping, chunks, and networks that are refused."""

import sys
from typing import Any

import numpy as np
import pytest

from tests.for_each import for_each

torch: Any = pytest.importorskip("torch", reason="the extra torch is not installed")

from dpverify.kernels.check import ArgumentError  # noqa: E402 -- only where torch is
from dpverify.kernels.typing import Vector  # noqa: E402 -- as above
from dpverify.problems.example_gradients import ExampleGradients  # noqa: E402 -- as above
from dpverify.problems.images import Images, digits  # noqa: E402 -- as above
from dpverify.problems.networks import NetworkGradients, make_network  # noqa: E402 -- as above
from dpverify.problems.networks.architectures import (  # noqa: E402 -- as above
    NETWORKS,
    UnfoldedConvolution,
    freeze_convolutions,
    load_parameters,
)
from dpverify.problems.networks.oracle import load_torch  # noqa: E402 -- as above

BATCH = np.array([3, 100, 7, 1001, 12])
SHAPES = {"cnn4": (1, 28), "cnn5": (3, 32), "cnn6": (3, 32)}


def data(name: str) -> Images:
    return digits()[0].sized(*SHAPES.get(name, (1, 8)))


def backward(network: Any, images: Images, example: int) -> Vector:
    network.zero_grad()
    x = torch.from_numpy(images.x[[example]]).float() / images.top
    torch.nn.functional.cross_entropy(
        network(x), torch.from_numpy(images.y[[example]])
    ).backward()
    return np.concatenate(
        [p.grad.numpy().ravel() for p in network.parameters() if p.requires_grad]
    )


@for_each("name", NETWORKS)
def test_rows_are_gradients_of_single_examples(name: str) -> None:
    images = data(name)
    network = make_network(name, images.x.shape[1:], seed=1)
    oracle = NetworkGradients(network, images)
    rows = oracle.rows(oracle.start, BATCH)
    wanted = np.array([backward(network, images, n) for n in BATCH])
    assert rows.shape == (5, len(oracle.start))
    assert np.allclose(rows, wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted).max())


@for_each("gamma", [0.3, 1.0])
def test_means_are_clipped_by_example_as_of_any_function(gamma: float) -> None:
    images = data("cnn2")
    oracle = NetworkGradients(make_network("cnn2", (1, 8, 8)), images, 0.4, 0.02)
    plain = ExampleGradients(oracle.rows, 0.4, 0.02)
    new, old = (
        oracle.start,
        oracle.start
        + 0.01 * np.random.default_rng(0).standard_normal(len(oracle.start)),
    )
    for changes in (False, True):
        mine, theirs = np.empty(len(new)), np.empty(len(new))
        for one, out in ((oracle, mine), (plain, theirs)):
            if changes:
                one.change(new, old, BATCH, gamma, out)
            else:
                one(new, BATCH, out)
        assert np.allclose(
            mine, theirs, rtol=0, atol=1e-6 * np.abs(theirs).max() + 1e-9
        )
        assert np.linalg.norm(mine) > 0.001


def test_one_example_moves_the_mean_by_its_clip_length() -> None:
    oracle = NetworkGradients(make_network("cnn2", (1, 8, 8)), data("cnn2"), 0.01)
    out = np.empty(len(oracle.start))
    oracle(oracle.start, BATCH[:1], out)
    assert np.linalg.norm(out) == pytest.approx(0.01, rel=1e-5)


def test_chunks_keep_the_limit_and_change_nothing() -> None:
    images, network = data("cnn2"), make_network("cnn2", (1, 8, 8))
    whole, parts = (
        NetworkGradients(network, images, 0.5),
        NetworkGradients(network, images, 0.5, limit=1 << 19),
    )
    assert 1 <= parts.chunk < len(BATCH) < whole.chunk
    a, b = np.empty(len(whole.start)), np.empty(len(whole.start))
    whole(whole.start, BATCH, a)
    parts(whole.start, BATCH, b)
    assert np.allclose(a, b, rtol=0, atol=1e-7)
    with pytest.raises(ArgumentError, match=r"^limit .*one example"):
        NetworkGradients(network, images, limit=1000)


def test_a_network_that_mixes_examples_is_refused_and_so_is_none_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nn = torch.nn
    for layer in (nn.BatchNorm2d(1), nn.Dropout(0.5)):
        mixing = nn.Sequential(layer, nn.Flatten(), nn.Linear(64, 10))
        with pytest.raises(
            ArgumentError, match="must score each image by itself"
        ) as caught:
            NetworkGradients(mixing, data("cnn2"))
        assert "\n" not in str(caught.value)
    with pytest.raises(ArgumentError, match="network"):
        make_network("cnn7", (1, 8, 8))
    with pytest.raises(ArgumentError, match="shape"):
        make_network("cnn4", (1, 8, 8))
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ArgumentError, match=r"\.\[torch\]"):
        load_torch()


def test_gradients_that_are_not_finite_are_refused() -> None:
    oracle = NetworkGradients(make_network("cnn2", (1, 8, 8)), data("cnn2"), 1.0)
    with pytest.raises(ArgumentError, match="must be finite"):
        oracle(np.full(len(oracle.start), np.nan), BATCH, np.empty(len(oracle.start)))


def test_the_unfolded_convolution_is_the_librarys() -> None:
    mine = UnfoldedConvolution(3, 5, 4, stride=2, padding=1)
    x = torch.randn(2, 3, 9, 11)
    wanted = torch.nn.functional.conv2d(x, mine.weight, mine.bias, 2, 1)
    assert torch.allclose(mine(x), wanted, atol=1e-5)


def test_frozen_layers_stay_and_parameters_come_back() -> None:
    images = data("cnn6")
    network = freeze_convolutions(make_network("cnn6", (3, 32, 32)))
    oracle = NetworkGradients(network, images)
    assert len(oracle.start) == sum(p.numel() for p in network[10:].parameters())
    first = network[0].weight.clone()
    load_parameters(network, oracle.start + 1.0)
    assert torch.equal(first, network[0].weight)
    assert np.allclose(NetworkGradients(network, images).start, oracle.start + 1.0)


def test_seeds_draw_networks_and_leave_the_librarys_state() -> None:
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    a, b, c = (make_network("cnn2", (1, 8, 8), seed) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(3), wanted)
    assert torch.equal(a[0].weight, b[0].weight)
    assert not torch.equal(a[0].weight, c[0].weight)


def test_accuracy_and_loss() -> None:
    images = data("cnn2")
    oracle = NetworkGradients(make_network("cnn2", (1, 8, 8)), images)
    right, loss = oracle.accuracy_and_loss(np.zeros(len(oracle.start)), images)
    assert right == np.mean(images.y == 0)
    assert loss == pytest.approx(np.log(10))
