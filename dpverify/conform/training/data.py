"""Data sets on which a training is tested, and models with known per-example gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

Model: TypeAlias = Literal["linear", "sequence", "convolution"]
MODELS: tuple[Model, ...] = ("linear", "sequence", "convolution")
# weights of the two positions in the loss, so that positions can cancel
SIGNS = np.array([1.0, -1.0])
KERNEL = 2  # kernel width of the convolution, in positions
SHAPES: dict[Model, str] = {
    "linear": "(records, dimension)",
    "sequence": "(records, 2 positions, dimension)",
    "convolution": "(records, dimension / 2 channels, 3 positions)",
}


@dataclass(frozen=True)
class TrainingData:
    """Records chosen by the tests, and the model to be trained on them.

    The loss of a record is an inner product of the weights with numbers of the record.
    So its gradient is known and does not depend on initial weights, learning rates or
    earlier noise.

    Parameters
    ----------
    inputs : array
        One row per record. Its shape depends on the model: ``(records, dimension)`` for
        ``"linear"``, ``(records, 2, dimension)`` for ``"sequence"``, ``(records,
        dimension / 2, 3)`` for ``"convolution"``.
    model : {"linear", "sequence", "convolution"}
        The model. ``"linear"`` has two layers; the gradient is the record.
        ``"sequence"`` applies one linear layer to two positions; the gradient is their
        difference. ``"convolution"`` applies a kernel of width 2 to 3 positions.

    Examples
    --------
    >>> import numpy as np
    >>> from dpverify.conform.training import TrainingData
    >>> data = TrainingData(np.array([[3.0, 4.0], [0.0, 1.0], [2.0, 2.0]]))
    >>> len(data), data.dimension, data.layers
    (3, 2, (1, 1))
    >>> data.gradients([1])
    array([[0., 1.]])
    """

    inputs: Any
    model: Model = "linear"

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: Any) -> Any:
        """Return the input of one or several records."""
        return self.inputs[index]

    @property
    def dimension(self) -> int:
        """Number of weights, at least 2."""
        width = (
            self.inputs.shape[1] if self.model != "sequence" else self.inputs.shape[2]
        )
        return int(width) * (KERNEL if self.model == "convolution" else 1)

    @property
    def layers(self) -> tuple[int, ...]:
        """Number of weights of each layer, in the order of a flat gradient."""
        if self.model != "linear":
            return (self.dimension,)
        first = self.dimension // 2
        return (first, self.dimension - first)

    def gradients(self, indices: Any = None) -> Any:
        """Return the gradients of records as flat rows in the order of the model's parameters.

        Parameters
        ----------
        indices : sequence of int, optional
            The records; all by default.

        Returns
        -------
        array of float64, of shape (number of records, dimension)
        """
        records = (
            self.inputs
            if indices is None
            else self.inputs[np.asarray(indices, dtype=int)]
        )
        if self.model == "linear":
            return records.copy()
        if self.model == "sequence":
            return SIGNS[0] * records[:, 0] + SIGNS[1] * records[:, 1]
        windows = SIGNS[0] * records[:, :, :KERNEL] + SIGNS[1] * records[:, :, 1:]
        return windows.reshape(len(records), self.dimension)

    def torch_model(self, dtype: Any = None) -> Any:
        """Build the model, a ``torch.nn.Module`` of standard layers that returns the loss of each record of a batch.

        Parameters
        ----------
        dtype : torch.dtype, optional
            Type of the weights; PyTorch's default type by default.

        Returns
        -------
        torch.nn.Module
        """
        from dpverify.conform.training.torch_models import build_model

        return build_model(self, dtype)

    def torch_data(self, dtype: Any = None) -> Any:
        """Return the inputs as a ``torch.utils.data.TensorDataset``.

        Parameters
        ----------
        dtype : torch.dtype, optional
            Type of the inputs; PyTorch's default type by default.

        Returns
        -------
        torch.utils.data.TensorDataset
        """
        from dpverify.conform.training.torch_models import build_data

        return build_data(self, dtype)


def data_with(
    gradients: Any, model: Model = "linear", hidden: Any = 0.0
) -> TrainingData:
    """Return data with these gradients.

    ``hidden`` is added to both positions of a sequence or convolution. It cancels and does not change the gradients.
    """
    g = np.asarray(gradients, dtype=float)
    if model == "linear":
        return TrainingData(g.copy())
    hidden = np.broadcast_to(np.asarray(hidden, dtype=float), g.shape)
    if model == "sequence":
        return TrainingData(np.stack([g + hidden, hidden], axis=1), model)
    kernels = g.reshape(len(g), -1, KERNEL)
    middle = hidden.reshape(kernels.shape)[:, :, 0]
    return TrainingData(
        np.stack(
            [kernels[:, :, 0] + middle, middle, middle - kernels[:, :, 1]], axis=2
        ),
        model,
    )
