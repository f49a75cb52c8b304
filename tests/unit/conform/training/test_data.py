"""The kit's models: their gradients are those that were asked for, in numpy and by PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpverify.conform.training.runs import MODELS, Model, training_data
from tests.for_each import for_each

GRADIENTS = np.random.default_rng(0).standard_normal((5, 6))
HIDDEN = np.random.default_rng(1).standard_normal((5, 6))


@for_each("model", MODELS)
@for_each("hidden", [0.0, HIDDEN])
def test_gradients_are_those_that_were_asked_for(model: Model, hidden: Any) -> None:
    data = training_data(GRADIENTS, model, hidden)
    assert (len(data), data.dimension, sum(data.layers)) == (5, 6, 6)
    np.testing.assert_allclose(data.gradients(), GRADIENTS, atol=1e-12)
    np.testing.assert_allclose(data.gradients([3, 1]), GRADIENTS[[3, 1]], atol=1e-12)
    assert data.gradients([]).shape == (0, 6)
    assert data[[0, 2]].shape == (2, *data.inputs.shape[1:])


@for_each("model", MODELS)
def test_the_models_of_pytorch_have_these_gradients(model: Model) -> None:
    torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    data = training_data(GRADIENTS, model, HIDDEN)
    network = data.torch_model(torch.float64)
    for (inputs,), gradient in zip(
        data.torch_data(torch.float64), GRADIENTS, strict=True
    ):
        network.zero_grad()
        network(inputs[None]).sum().backward()
        parts = [parameter.grad.flatten() for parameter in network.parameters()]
        assert [len(part) for part in parts] == list(data.layers)
        np.testing.assert_allclose(torch.cat(parts).numpy(), gradient, atol=1e-12)
    assert network(
        torch.zeros((0, *data.inputs.shape[1:]), dtype=torch.float64)
    ).shape == (0,)


def test_positions_can_cancel() -> None:
    data = training_data(np.zeros((1, 4)), "sequence", 1e6)
    assert not data.gradients().any()
    assert np.abs(data.inputs).min() == 1e6
