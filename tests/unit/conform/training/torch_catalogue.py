"""Training loops in PyTorch, with hooks, loaders and ranks: some without a mistake, and mistakes of such loops."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from dpverify.conform import Promise
from dpverify.conform.training import TrainingData

torch: Any = importlib.import_module("torch")
distributed: Any = importlib.import_module("torch.distributed")

Tensor = Any
CLIP, SIGMA, BATCH, N, STEPS = 0.7, 1.3, 4, 24, 4
PROMISE = Promise(
    sigma=SIGMA, clip=CLIP, divisor=BATCH, steps=STEPS, examples=N, batch=BATCH
)
DOUBLE = torch.float64


class Hooks:
    """Per-example gradients of the kit's layers, from their inputs and the gradients of their outputs."""

    def __init__(self, model: Any) -> None:
        self.handles: list[Any] = []
        self.inputs: dict[Any, Tensor] = {}
        self.outputs: dict[Any, Tensor] = {}
        for layer in model.modules():
            if not list(layer.children()):
                self.handles.append(layer.register_forward_hook(self.keep))

    def keep(self, layer: Any, inputs: Any, output: Tensor) -> None:
        """Keep the inputs of a layer, and the gradients of its outputs when they are known."""
        self.inputs[layer] = inputs[0].detach()
        output.register_hook(partial(self.outputs.__setitem__, layer))

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def gradients(self, layer: Any) -> Tensor:
        """Return one row per record, in the order of the weight."""
        x = self.inputs[layer]
        out = self.outputs[layer]
        if isinstance(layer, torch.nn.Conv1d):
            # record, channel, position, place in the kernel
            windows = x.unfold(2, layer.kernel_size[0], 1)
            return torch.einsum("np,ncpk->nck", out[:, 0], windows).flatten(1)
        if x.dim() == 3:
            return torch.einsum("npo,npf->nof", out, x).flatten(1)
        return torch.einsum("no,nf->nof", out, x).flatten(1)

    def ghost_squares(self, layer: Any, dtype: Any) -> Tensor:
        """Return squared norms from inner products of positions, without the gradients."""
        x = self.inputs[layer].to(dtype)
        out = self.outputs[layer].to(dtype)
        if x.dim() != 3 or isinstance(layer, torch.nn.Conv1d):
            return self.gradients(layer).square().sum(dim=1)
        return ((x @ x.mT) * (out @ out.mT)).sum(dim=(1, 2)).clamp(min=0)


def true_squares(hooks: Hooks, layer: Any) -> Tensor:
    return hooks.gradients(layer).square().sum(dim=1)


def ghost_squares(hooks: Hooks, layer: Any) -> Tensor:
    return hooks.ghost_squares(layer, DOUBLE)


def low_precision_squares(hooks: Hooks, layer: Any) -> Tensor:
    return hooks.ghost_squares(layer, torch.float32).to(DOUBLE)


def diagonal_squares(hooks: Hooks, layer: Any) -> Tensor:
    """Products of two different positions are forgotten."""
    x = hooks.inputs[layer]
    out = hooks.outputs[layer]
    if x.dim() != 3 or isinstance(layer, torch.nn.Conv1d):
        return true_squares(hooks, layer)
    return (x.square().sum(dim=2) * out.square().sum(dim=2)).sum(dim=1)


def clipped_sum(
    model: Any,
    inputs: Tensor,
    squares: Callable[[Hooks, Any], Tensor] = true_squares,
    *,
    by_layer: bool = False,
    clip_of_layer: Callable[[int], float] = lambda layers: CLIP,
) -> Tensor:
    """Return the sum of clipped gradients, as one row. The clip length may depend on the number of layers."""
    hooks = Hooks(model)
    model.zero_grad()
    model(inputs).sum().backward()
    hooks.remove()
    layers = [layer for layer in model.modules() if not list(layer.children())]
    norms = [squares(hooks, layer) for layer in layers]
    parts = []
    for layer, own in zip(layers, norms, strict=True):
        total = own if by_layer else torch.stack(norms).sum(dim=0)
        factors = torch.clamp(
            clip_of_layer(len(layers)) / total.sqrt().clamp(min=1e-12), max=1.0
        )
        parts.append(factors @ hooks.gradients(layer))
    return torch.cat(parts)


def mean_clipped(model: Any, inputs: Tensor) -> Tensor:
    """The gradient of the batch is clipped by torch's own function, which does not know examples."""
    model.zero_grad()
    model(inputs).sum().backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
    return torch.cat([p.grad.flatten() for p in model.parameters()])


class PoissonSampler(torch.utils.data.Sampler):  # type: ignore[misc]
    """Poisson samples of all records, or of the records of a rank."""

    def __init__(
        self, records: list[int], generator: Any, rate: float, steps: int
    ) -> None:
        self.records = torch.tensor(records)
        self.generator = generator
        self.rate = rate
        self.steps = steps

    def __iter__(self) -> Iterator[list[int]]:
        for _ in range(self.steps):
            mask = torch.rand(len(self.records), generator=self.generator) < self.rate
            yield self.records[mask].tolist()


def generator_of(*seed: int) -> Any:
    number = 0
    for part in seed:
        number = (number * 1_000_003 + part) % 2**62
    return torch.Generator().manual_seed(number)


def collate(shape: tuple[int, ...], rows: list[Any]) -> Tensor:
    return (
        torch.stack([row[0] for row in rows])
        if rows
        else torch.zeros((0, *shape), dtype=DOUBLE)
    )


def loader_of(data: TrainingData, sampler: Any) -> Any:
    return torch.utils.data.DataLoader(
        data.torch_data(DOUBLE),
        batch_sampler=sampler,
        collate_fn=partial(collate, data.inputs.shape[1:]),
    )


def flat_weights(model: Any) -> Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def train(
    data: TrainingData,
    seed: int,
    *,
    total: Callable[[Any, Tensor], Tensor] = clipped_sum,
    rate: Callable[[int], float] = lambda n: BATCH / N,
    noise_seed: int | None = None,
) -> Iterator[Tensor]:
    """DP-SGD with a loader and an optimizer of PyTorch; yields the change of the weights."""
    model = data.torch_model(DOUBLE)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    noise = (
        generator_of(seed, 1)
        if noise_seed is None
        else torch.Generator().manual_seed(noise_seed)
    )
    for inputs in loader_of(
        data,
        PoissonSampler(
            [*range(len(data))], generator_of(seed, 2), rate(len(data)), STEPS
        ),
    ):
        summed = total(model, inputs)
        update = (
            summed
            + SIGMA * CLIP * torch.randn(len(summed), generator=noise, dtype=DOUBLE)
        ) / BATCH
        torch.nn.utils.vector_to_parameters(
            update, [p.grad for p in model.parameters()]
        )
        for parameter, part in zip(
            model.parameters(), update.split([*data.layers]), strict=True
        ):
            parameter.grad = part.view_as(parameter).clone()
        before = flat_weights(model).clone()
        optimizer.step()
        yield flat_weights(model) - before


def shuffling(data: TrainingData, seed: int) -> Iterator[Tensor]:
    """A shuffled loader of PyTorch in place of Poisson samples, which also drops the last batch."""
    model = data.torch_model(DOUBLE)
    noise = generator_of(seed, 1)
    loader = torch.utils.data.DataLoader(
        data.torch_data(DOUBLE),
        batch_size=BATCH,
        shuffle=True,
        drop_last=True,
        generator=generator_of(seed, 2),
    )
    done = 0
    while done < STEPS:
        for (inputs,) in loader:
            if done == STEPS:
                return
            done += 1
            summed = clipped_sum(model, inputs)
            yield (
                summed
                + SIGMA * CLIP * torch.randn(len(summed), generator=noise, dtype=DOUBLE)
            ) / BATCH


RIGHT: dict[str, Callable[..., Any]] = {
    "hooks": train,
    "norms from inner products": partial(
        train, total=partial(clipped_sum, squares=ghost_squares)
    ),
    "each layer is clipped to its share": partial(
        train,
        total=partial(
            clipped_sum, by_layer=True, clip_of_layer=lambda layers: CLIP / layers**0.5
        ),
    ),
}
MISTAKES: dict[str, tuple[Callable[..., Any], str]] = {
    "torch's clipping of the whole gradient": (
        partial(train, total=mean_clipped),
        "sensitivity, linear",
    ),
    "each layer is clipped": (
        partial(train, total=partial(clipped_sum, by_layer=True)),
        "sensitivity, linear",
    ),
    "a norm without the products of positions": (
        partial(train, total=partial(clipped_sum, squares=diagonal_squares)),
        "sensitivity, sequence",
    ),
    "a norm from inner products that cancel in float32": (
        partial(train, total=partial(clipped_sum, squares=low_precision_squares)),
        "sensitivity, sequence",
    ),
    "the rate is one over the length of the loader": (
        partial(train, rate=lambda n: 1.0 / -(-n // BATCH)),
        "number of records and rate",
    ),
    "noise from a fixed seed": (partial(train, noise_seed=0), "fresh numbers"),
    "a shuffled loader": (shuffling, "small batches"),
}
"""Training, and the first fault that is found."""


def train_on_ranks(
    data: TrainingData,
    seed: int,
    *,
    noise: str = "rank 0",
    seed_of_rank: bool = True,
    drop_empty: bool = False,
    divide_by_ranks: bool = False,
) -> Iterator[Tensor]:
    """DP-SGD on ranks: each has every second record, and the sums of all ranks are added."""
    rank = distributed.get_rank()
    ranks = distributed.get_world_size()
    model = data.torch_model(DOUBLE)
    own = [*range(rank, len(data), ranks)]
    sampler = PoissonSampler(
        own, generator_of(seed, 2, rank if seed_of_rank else 0), BATCH / N, STEPS
    )
    generator = generator_of(seed, 1, rank if seed_of_rank else 0)
    for inputs in loader_of(data, sampler):
        empty = torch.tensor(float(len(inputs)))
        if drop_empty:
            distributed.all_reduce(empty)
            if not empty:
                continue
        summed = clipped_sum(model, inputs)
        drawn = (
            SIGMA * CLIP * torch.randn(len(summed), generator=generator, dtype=DOUBLE)
        )
        share = {
            "rank 0": float(rank == 0),
            "each rank": 1.0,
            "shares": ranks**-0.5,
            "divided": 1.0 / ranks,
        }[noise]
        summed += share * drawn
        distributed.all_reduce(summed)
        yield summed / (BATCH * (ranks if divide_by_ranks else 1))


class Rescaled(torch.nn.Module):  # type: ignore[misc]
    """The loss of a rank for DistributedDataParallel: the inner product of the weights with the clipped sum."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weights = torch.nn.Parameter(torch.zeros(size, dtype=DOUBLE))

    def forward(self, summed: Tensor) -> Tensor:
        return self.weights @ summed


def distributed_data_parallel(
    data: TrainingData, seed: int, *, noise_on_each: bool = False
) -> Iterator[Tensor]:
    """DistributedDataParallel averages the gradients of the ranks; noise is added once, with one seed."""
    rank = distributed.get_rank()
    ranks = distributed.get_world_size()
    model = data.torch_model(DOUBLE)
    parallel = torch.nn.parallel.DistributedDataParallel(Rescaled(data.dimension))
    sampler = PoissonSampler(
        [*range(rank, len(data), ranks)], generator_of(seed, 2, rank), BATCH / N, STEPS
    )
    noise = generator_of(seed, 1, rank if noise_on_each else 0)
    for inputs in loader_of(data, sampler):
        summed = clipped_sum(model, inputs)
        drawn = SIGMA * CLIP * torch.randn(len(summed), generator=noise, dtype=DOUBLE)
        parallel.zero_grad()
        parallel(summed + (drawn if noise_on_each else 0.0)).backward()
        mean = next(parallel.parameters()).grad
        yield (mean * ranks + (0.0 if noise_on_each else drawn)) / BATCH


RIGHT_ON_RANKS: dict[str, Callable[..., Any]] = {
    "noise on rank 0": train_on_ranks,
    "shares of the noise": partial(train_on_ranks, noise="shares"),
    "DistributedDataParallel": distributed_data_parallel,
}
MISTAKES_ON_RANKS: dict[str, tuple[Callable[..., Any], str]] = {
    "noise on each rank": (
        partial(train_on_ranks, noise="each rank"),
        "scale of noise",
    ),
    "noise is divided by the number of ranks": (
        partial(train_on_ranks, noise="divided"),
        "scale of noise",
    ),
    "noise on each rank under DistributedDataParallel": (
        partial(distributed_data_parallel, noise_on_each=True),
        "scale of noise",
    ),
    "equal seeds of the ranks": (
        partial(train_on_ranks, seed_of_rank=False),
        "sampling",
    ),
    "joint batches that are empty are dropped": (
        partial(train_on_ranks, drop_empty=True),
        "number of",
    ),
    "the sum is divided by the ranks once more": (
        partial(train_on_ranks, divide_by_ranks=True),
        "scale of noise",
    ),
}


def dropped_by_a_rank(data: TrainingData, seed: int) -> Iterator[Tensor]:
    """A rank skips its own empty batches, so that the other one waits for it, or sums of two steps are added."""
    rank = distributed.get_rank()
    model = data.torch_model(DOUBLE)
    sampler = PoissonSampler(
        [*range(rank, len(data), 2)], generator_of(seed, 2, rank), BATCH / N, STEPS
    )
    noise = generator_of(seed, 1)
    for inputs in loader_of(data, sampler):
        if len(inputs):
            summed = clipped_sum(model, inputs)
            distributed.all_reduce(summed)
            yield (
                summed
                + SIGMA * CLIP * torch.randn(len(summed), generator=noise, dtype=DOUBLE)
            ) / BATCH


def ends(data: TrainingData, seed: int) -> Iterator[Tensor]:
    if distributed.get_rank() == 1:
        os._exit(7)
    return train_on_ranks(data, seed)


def disagrees(data: TrainingData, seed: int) -> Iterator[Tensor]:
    rank = distributed.get_rank()
    return (update * (1.0 + 0.001 * rank) for update in train_on_ranks(data, seed))


BROKEN_ON_RANKS: list[tuple[Callable[..., Any], str]] = [
    (dropped_by_a_rank, r"did not return within 20 s"),
    # the other rank loses its connection
    (ends, r"training on rank 1 ended its process with exit code 7"),
    (disagrees, r"updates of 2 ranks differ by at most 0\.00"),
]
