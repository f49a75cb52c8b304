"""Per-example gradients of a network, computed with ``torch.func``, clipped and added up in chunks.

The gradient of one image's loss (``grad`` of ``functional_call``) is mapped over a chunk (``vmap``) and recorded once
as plain operations (``make_fx``), which run without the overhead of both. The operations use 32-bit floats, so a
clipped gradient is as short as its clip length up to their rounding. A network that mixes the examples of a batch, as
batch normalization does, cannot be mapped and is rejected: one example could move all rows, and clipping would not
bound the sensitivity.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from types import ModuleType
from typing import Any

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.problems.images import Images

LIMIT = 1 << 29
SPARE = 1.25  # factor for the memory that operations need besides their results


def load_torch() -> ModuleType:
    """Return the module torch, or raise an ArgumentError that names the extra that installs it."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise check.ArgumentError(
            "torch",
            "not there",
            "must be installed: pip install -e '.[torch]' in a checkout",
        ) from None


def parameters_of(network: Any, names: Sequence[str]) -> Vector:
    """Return the parameters of a network with these names as one vector."""
    held = dict(network.named_parameters())
    return np.concatenate(
        [held[name].detach().numpy().astype(np.float64).ravel() for name in names]
    )


class NetworkGradients:
    """Clipped gradients of a network's cross entropy on images; a ``BatchOracle``.

    Parameters
    ----------
    network : torch.nn.Module
        A network that returns a score for each class (at least ten) of each image.
        Images have the shape (B, channels, height, width) and values from 0 to 1. The
        parameters with ``requires_grad`` form w, in their order; other parameters are
        constant.
    images : Images
        The data.
    clip, change_clip : float
        Clip lengths of gradients and of their changes, above 0; an infinite length does
        not clip.
    limit : int
        Bytes of memory that a chunk may use.

    Raises
    ------
    ArgumentError
        If a clip length is not positive, one example does not fit in the limit, or the
        network cannot be mapped over examples. A call raises it if a gradient is not
        finite.
    """

    def __init__(
        self,
        network: Any,
        images: Images,
        clip: float = math.inf,
        change_clip: float = math.inf,
        limit: int = LIMIT,
    ) -> None:
        self.torch = load_torch()
        self.clip = clip if clip == math.inf else check.positive(clip=clip)
        self.change_clip = (
            change_clip
            if change_clip == math.inf
            else check.positive(change_clip=change_clip)
        )
        self._network = network
        self.images = images
        trained = {
            name: value.detach()
            for name, value in network.named_parameters()
            if value.requires_grad
        }
        self.names, self._shapes = (
            list(trained),
            [value.shape for value in trained.values()],
        )
        self._sizes = [value.numel() for value in trained.values()]
        self.start = parameters_of(network, self.names)
        self._programs: dict[int, Callable[..., tuple[Any, ...]]] = {}
        bytes_of_one = self._bytes_of(self._program(1)) * SPARE + 8 * len(self.start)
        self.chunk = int(limit / bytes_of_one)
        if self.chunk < 1:
            raise check.ArgumentError(
                "limit",
                limit,
                f"must have room for one example, {bytes_of_one:.0f} bytes",
            )

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the mean of the batch's clipped gradients at ``w``, shape (d,), to ``out``."""
        out[:] = 0.0
        for part in self._parts(batch):
            self._add(self.gradients(w, part), self.clip, 1.0 / len(batch), out)

    def change(
        self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector
    ) -> None:
        """Write the mean over ``batch`` of gamma grad f(new) + (1 - gamma) (grad f(new) - grad f(old)) to ``out``."""
        out[:] = 0.0
        for part in self._parts(batch):
            now = self.gradients(new, part)
            self._add(now, self.clip, gamma / len(batch), out)
            if gamma < 1.0:
                for mine, before in zip(now, self.gradients(old, part), strict=True):
                    mine.sub_(before)
                self._add(now, self.change_clip, (1.0 - gamma) / len(batch), out)

    def with_clips(self, clip: float, change_clip: float) -> NetworkGradients:
        """Return a copy with other clip lengths, which shares the recorded operations."""
        copied = copy(self)
        copied.clip = clip
        copied.change_clip = change_clip
        return copied

    def rows(self, w: Vector, batch: Indices) -> Matrix:
        """Return the gradient of each example without clipping, shape (B, d)."""
        chunks = [self.gradients(w, part) for part in self._parts(batch)]
        rows = [
            np.concatenate([gradient.flatten(1).numpy() for gradient in chunk], axis=1)
            for chunk in chunks
        ]
        return np.concatenate(rows).astype(np.float64)

    def accuracy_and_loss(self, w: Vector, images: Images) -> tuple[float, float]:
        """Return the accuracy and the mean loss on images."""
        torch = self.torch
        right = 0
        loss = 0.0
        with torch.no_grad():
            for part in self._parts(np.arange(len(images.y))):
                x, y = self._tensors(images, part)
                scores = torch.func.functional_call(
                    self._network, self._parameters(w), (x,)
                )
                right += int((scores.argmax(1) == y).sum())
                loss += float(
                    torch.nn.functional.cross_entropy(scores, y, reduction="sum")
                )
        return right / len(images.y), loss / len(images.y)

    def _parts(self, batch: Indices) -> Iterator[Indices]:
        yield from (
            batch[first : first + self.chunk]
            for first in range(0, len(batch), self.chunk)
        )

    def _parameters(self, w: Vector) -> dict[str, Any]:
        parts = self.torch.from_numpy(w.astype(np.float32)).split(self._sizes)
        shaped = zip(self.names, parts, self._shapes, strict=True)
        return {name: part.view(shape) for name, part, shape in shaped}

    def _tensors(self, images: Images, batch: Indices) -> tuple[Any, Any]:
        x = self.torch.from_numpy(images.x[batch]).float() / images.top
        return x, self.torch.from_numpy(images.y[batch])

    def gradients(self, w: Vector, batch: Indices) -> tuple[Any, ...]:
        """Return the gradients of a chunk, a tensor (B, ...) for each parameter."""
        with self.torch.no_grad():
            return self._program(len(batch))(
                self._parameters(w), *self._tensors(self.images, batch)
            )

    def _program(self, size: int) -> Callable[..., tuple[Any, ...]]:
        """Return the recorded program for the gradients of a chunk of this size."""
        if size not in self._programs:
            func = self.torch.func
            make_fx = importlib.import_module(
                "torch.fx.experimental.proxy_tensor"
            ).make_fx

            def loss(parameters: dict[str, Any], x: Any, y: Any) -> Any:
                scores = func.functional_call(self._network, parameters, (x[None],))
                return self.torch.nn.functional.cross_entropy(scores, y[None])

            def rows(parameters: dict[str, Any], x: Any, y: Any) -> tuple[Any, ...]:
                return tuple(
                    func.vmap(func.grad(loss), (None, 0, 0))(parameters, x, y).values()
                )

            like = (
                self._parameters(self.start),
                *self._tensors(self.images, np.zeros(size, dtype=np.int64)),
            )
            try:
                self._programs[size] = make_fx(rows)(*like)
            except (
                RuntimeError,
                ValueError,
                TypeError,
                IndexError,
                AttributeError,
            ) as error:
                words = f"{type(self._network).__name__}: {str(error).strip().splitlines()[0]}"
                rule = "must score each image by itself (no batch normalization), as torch.func.vmap can see"
                raise check.ArgumentError("network", words, rule) from error
        return self._programs[size]

    @staticmethod
    def _bytes_of(program: Any) -> int:
        """Return the peak number of bytes of intermediate results of a program; views count as copies."""
        alive = 0
        peak = 0
        last = dict[Any, int]()
        held = dict[Any, int]()
        for place, node in enumerate(program.graph.nodes):
            last |= dict.fromkeys(node.all_input_nodes, place)
        for place, node in enumerate(program.graph.nodes):
            metadata = node.meta.get("tensor_meta")
            if node.op == "call_function" and hasattr(metadata, "shape"):
                held[node] = math.prod(metadata.shape) * metadata.dtype.itemsize
                alive += held[node]
            peak = max(peak, alive)
            alive -= sum(
                held.pop(input_node)
                for input_node in node.all_input_nodes
                if last[input_node] == place and input_node in held
            )
        return peak

    def _add(
        self, rows: tuple[Any, ...], clip: float, weight: float, out: Vector
    ) -> None:
        """Add ``weight`` times the clipped rows to ``out``; raise an ArgumentError if they are not finite."""
        torch = self.torch
        flat = [row.flatten(1) for row in rows]
        squares = sum(
            torch.linalg.vector_norm(row, dim=1, dtype=torch.float32).double().square()
            for row in flat
        )
        lengths = squares.sqrt()
        if not bool(torch.isfinite(lengths).all()):
            raise check.ArgumentError(
                "gradient", "an infinite number or NaN", "must be finite"
            )
        factors = weight * (clip / lengths.clamp(min=1e-300)).clamp(max=1.0).float()
        first = 0
        for row in flat:
            out[first : first + row.shape[1]] += (factors @ row).numpy()
            first += row.shape[1]
