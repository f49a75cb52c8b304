"""The networks of zhang2021 and wang2019.

zhang2021 uses a two-layer CNN and ResNet-20, with ELU. The paper does not give other
details; we chose them. ResNet-20 (He et al. 2016, section 4.2) has batch normalization,
which mixes the examples of a batch. One example then moves all gradients, and clipping
each gradient does not bound the sensitivity. Here ResNet-20 has group normalization,
which normalizes each image on its own, or no normalization.

wang2019 cites the code of its networks, and Tables 5 and 6 have the shapes of two of them. CNN6 (Abadi et al. 2016) is
described as three convolutions with 32, 64 and 128 filters and three linear layers; we chose the sizes of the layers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Final

from dpverify.kernels import check
from dpverify.kernels.typing import Vector
from dpverify.problems.networks.oracle import load_torch

torch = load_torch()
nn = torch.nn
functional = torch.nn.functional
Conv2d: Any = nn.Conv2d
Module: Any = nn.Module

GROUPS = 8


class UnfoldedConvolution(Conv2d):  # type: ignore[misc]  # torch is loaded by name, without its types
    """A convolution as a matrix product. Its per-example gradients are fast products of small matrices."""

    def forward(self, x: Any) -> Any:
        """Return the convolution of images (B, channels, height, width)."""
        size = self.kernel_size[0]
        step = self.stride[0]
        pad = self.padding[0]
        height, width = ((side + 2 * pad - size) // step + 1 for side in x.shape[2:])
        columns = functional.unfold(x, size, padding=pad, stride=step)
        output = self.weight.flatten(1) @ columns
        if self.bias is not None:
            output = output + self.bias[:, None]
        return output.reshape(len(x), -1, height, width)


class ResidualBlock(Module):  # type: ignore[misc]  # as above
    """Two convolutions and a shortcut that subsamples pixels and pads channels with zeros (option A of He et al.)."""

    def __init__(
        self, channels_in: int, channels_out: int, norm: Callable[[int], Any]
    ) -> None:
        super().__init__()
        self.more = channels_out - channels_in
        self.stride = 1 if channels_in == channels_out else 2
        self.inner = nn.Sequential(
            UnfoldedConvolution(channels_in, channels_out, 3, self.stride, 1),
            norm(channels_out),
            nn.ELU(),
            UnfoldedConvolution(channels_out, channels_out, 3, 1, 1),
            norm(channels_out),
        )

    def forward(self, x: Any) -> Any:
        """Return the output for images (B, channels, height, width)."""
        short = functional.pad(
            x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.more)
        )
        return functional.elu(self.inner(x) + short)


def make_network(
    name: str, shape: tuple[int, int, int], seed: int = 0, classes: int = 10
) -> Any:
    """Return one of :data:`NETWORKS` for images of a shape (channels, height, width), initialized from a seed."""
    if name not in NETWORKS:
        raise check.ArgumentError(
            "network", name, f"must be one of {', '.join(NETWORKS)}"
        )
    before = torch.random.get_rng_state()
    torch.manual_seed(check.whole(0, seed=seed))
    try:
        network, sized = NETWORKS[name](shape, classes), torch.zeros(1, *shape)
        with torch.no_grad():
            network(sized)
        return network
    except RuntimeError as error:
        raise check.ArgumentError(
            "shape", shape, f"must fit the network {name}"
        ) from error
    finally:
        torch.random.set_rng_state(before)


def freeze_convolutions(network: Any) -> Any:
    """Freeze the parameters of all convolutions, and return the network."""
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d):
            layer.requires_grad_(requires_grad=False)
    return network


def copy_convolutions(network: Any, source: Any) -> None:
    """Copy the convolutions of ``source``, a network with the same architecture, to ``network``."""
    for module, source_module in zip(network.modules(), source.modules(), strict=True):
        if isinstance(module, nn.Conv2d):
            module.load_state_dict(source_module.state_dict())


def load_parameters(network: Any, w: Vector) -> Any:
    """Set the trainable parameters of a network to w, shape (d,), and return the network."""
    trained = [value for value in network.parameters() if value.requires_grad]
    nn.utils.vector_to_parameters(torch.from_numpy(w).float(), trained)
    return network


def _cnn2(shape: tuple[int, int, int], classes: int) -> Any:
    """Return two 3 by 3 convolutions with ELU and pooling, and a linear layer; 9050 parameters for 8 by 8 digits."""
    deep = 48 * (shape[1] // 4) * (shape[2] // 4)
    pool = nn.AvgPool2d(2)
    first = UnfoldedConvolution(shape[0], 16, 3, padding=1), nn.ELU(), pool
    second = UnfoldedConvolution(16, 48, 3, padding=1), nn.ELU(), pool
    return nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(deep, classes))


def _resnet20(norm: Callable[[int], Any]) -> Callable[[tuple[int, int, int], int], Any]:
    def make(shape: tuple[int, int, int], classes: int) -> Any:
        widths = [16, 16, 16, 16, 32, 32, 32, 64, 64, 64]
        blocks = [ResidualBlock(a, b, norm) for a, b in itertools.pairwise(widths)]
        first = UnfoldedConvolution(shape[0], 16, 3, padding=1), norm(16), nn.ELU()
        return nn.Sequential(
            *first,
            *blocks,
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(64, classes),
        )

    return make


def _cnn4(shape: tuple[int, int, int], classes: int) -> Any:
    """Return the network of Table 5, for images of 28 by 28 pixels."""
    first = UnfoldedConvolution(shape[0], 16, 8, 2, 3), nn.ReLU(), nn.MaxPool2d(2, 1)
    second = UnfoldedConvolution(16, 32, 4, 2), nn.ReLU(), nn.MaxPool2d(2, 1)
    return nn.Sequential(
        *first,
        *second,
        nn.Flatten(),
        nn.Linear(512, 32),
        nn.ReLU(),
        nn.Linear(32, classes),
    )


def _cnn5(shape: tuple[int, int, int], classes: int) -> Any:
    """Return the network of Table 6, for images of 32 by 32 pixels."""
    first = UnfoldedConvolution(shape[0], 6, 5), nn.ReLU(), nn.MaxPool2d(2)
    second = UnfoldedConvolution(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)
    return nn.Sequential(*first, *second, nn.Flatten(), *_linear(400, 120, 84, classes))


def _cnn6(shape: tuple[int, int, int], classes: int) -> Any:
    layers = []
    channels_in = shape[0]
    for channels_out in (32, 64, 128):
        layers += [
            UnfoldedConvolution(channels_in, channels_out, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
        channels_in = channels_out
    return nn.Sequential(
        *layers,
        nn.Flatten(),
        *_linear(128 * (shape[1] // 8) * (shape[2] // 8), 120, 84, classes),
    )


def _linear(*widths: int) -> list[Any]:
    layers = [
        layer
        for a, b in itertools.pairwise(widths)
        for layer in (nn.Linear(a, b), nn.ReLU())
    ]
    return layers[:-1]


NETWORKS: Final[dict[str, Callable[[tuple[int, int, int], int], Any]]] = {
    "cnn2": _cnn2,
    "resnet20": _resnet20(lambda width: nn.GroupNorm(GROUPS, width)),
    "resnet20-plain": _resnet20(lambda _: nn.Identity()),
    "cnn4": _cnn4,
    "cnn5": _cnn5,
    "cnn6": _cnn6,
}
"""Networks by name; ``resnet20-plain`` has no normalization."""
