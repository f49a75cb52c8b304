"""The test models as PyTorch networks of standard layers, which hooks and ghost clipping support."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpverify.conform.training.runs import KERNEL, SIGNS
from dpverify.problems.networks.oracle import load_torch

if TYPE_CHECKING:
    from dpverify.conform.training.runs import TrainingData

torch = load_torch()


class TwoLayers(torch.nn.Module):  # type: ignore[misc, name-defined]  # torch is loaded by name, without its types
    """Network whose loss is the sum of the outputs of two linear layers on the two parts of a record."""

    def __init__(self, layers: tuple[int, ...], dtype: Any) -> None:
        super().__init__()
        self.sizes = list(layers)
        self.first = torch.nn.Linear(layers[0], 1, bias=False, dtype=dtype)
        self.second = torch.nn.Linear(layers[1], 1, bias=False, dtype=dtype)

    def forward(self, inputs: Any) -> Any:
        """Return the loss of each record."""
        first, second = inputs.split(self.sizes, dim=1)
        return (self.first(first) + self.second(second))[:, 0]


class SignedPositions(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Network whose loss is the output of a layer at the first position minus its output at the second one."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, inputs: Any) -> Any:
        """Return the loss of each record."""
        outputs = self.layer(inputs).flatten(1)
        return float(SIGNS[0]) * outputs[:, 0] + float(SIGNS[1]) * outputs[:, 1]


def build_model(data: TrainingData, dtype: Any) -> Any:
    """Build the model of a data set."""
    if data.model == "linear":
        return TwoLayers(data.layers, dtype)
    if data.model == "sequence":
        return SignedPositions(
            torch.nn.Linear(data.dimension, 1, bias=False, dtype=dtype)
        )
    channels = data.inputs.shape[1]
    return SignedPositions(
        torch.nn.Conv1d(channels, 1, KERNEL, bias=False, dtype=dtype)
    )


def build_data(data: TrainingData, dtype: Any) -> Any:
    """Return the inputs of a data set as a tensor data set."""
    return torch.utils.data.TensorDataset(
        torch.tensor(data.inputs, dtype=dtype or torch.get_default_dtype())
    )
