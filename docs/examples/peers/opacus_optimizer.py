"""Opacus: DPOptimizer and the loader of the library, in double and in single precision."""

import numpy as np
import torch
from opacus.data_loader import DPDataLoader
from opacus.optimizers import DPOptimizer
from torch.utils.data import DataLoader, TensorDataset

from dpverify.conform import PrivateOptimizer, Promise

CLIP, SIGMA, BATCH, EXAMPLES = 0.7, 1.1, 16, 208


def seeded(rng):
    """Return a generator of PyTorch with a seed from the given generator."""
    return torch.Generator().manual_seed(int(rng.integers(2**62)))


def step_with(dtype, clip):
    """Return a step with the learning rate 1 from 0: the weights after it are what was released."""

    def step(state, gradients, rng):
        weights = torch.nn.Parameter(torch.zeros(gradients.shape[1], dtype=dtype))
        optimizer = DPOptimizer(
            torch.optim.SGD([weights], lr=1.0),
            noise_multiplier=SIGMA,
            max_grad_norm=clip,
            expected_batch_size=BATCH,
            generator=seeded(rng),
        )
        weights.grad_sample = torch.from_numpy(np.array(gradients)).to(dtype)
        optimizer.step()
        return state, -weights.detach().numpy()

    return step


def batches(examples, steps, rng):
    """Yield the batches of the loader, epoch after epoch."""
    data = DataLoader(TensorDataset(torch.arange(examples)), batch_size=BATCH)
    loader = DPDataLoader.from_data_loader(data, generator=seeded(rng))
    while steps > 0:
        for (batch,) in loader:
            if steps > 0:
                yield batch.numpy().reshape(-1)
            steps -= 1


def make(dtype="float64"):
    """Opacus, DPOptimizer and DPDataLoader: DP-SGD with Poisson batches, weights in double precision."""
    promise = Promise(sigma=SIGMA, clip=CLIP, divisor=BATCH, examples=EXAMPLES, batch=BATCH, dtype=dtype)
    kind = getattr(torch, dtype)
    other = lambda clip: PrivateOptimizer(step_with(kind, clip), batches=batches)  # noqa: E731
    return PrivateOptimizer(step_with(kind, CLIP), batches=batches, at_clip=other), promise


def make_float32():
    """Opacus, DPOptimizer and DPDataLoader: DP-SGD with Poisson batches, weights in single precision."""
    return make("float32")
