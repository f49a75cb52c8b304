"""Opacus: DPOptimizer and the loader of the library, in double and in single precision."""

from dataclasses import replace
from functools import partial

import numpy as np
import torch
from opacus.data_loader import DPDataLoader
from opacus.optimizers import DPOptimizer
from torch.utils.data import DataLoader, TensorDataset

from dpverify.conform import PrivateOptimizer, Promise

CLIP, SIGMA, BATCH, EXAMPLES = 0.7, 1.1, 16, 208


def seeded(rng, device="cpu"):
    """Return a generator of PyTorch with a seed from the given generator."""
    return torch.Generator(device).manual_seed(int(rng.integers(2**62)))


def step(state, gradients, rng, dtype, device, clip):
    """Take a step with the learning rate 1 from 0: the weights after it are what was released."""
    weights = torch.nn.Parameter(torch.zeros(gradients.shape[1], dtype=dtype, device=device))
    optimizer = DPOptimizer(
        torch.optim.SGD([weights], lr=1.0),
        noise_multiplier=SIGMA,
        max_grad_norm=clip,
        expected_batch_size=BATCH,
        generator=seeded(rng, device),
    )
    weights.grad_sample = torch.from_numpy(np.array(gradients)).to(device, dtype)
    optimizer.step()
    return state, -weights


def batches(examples, steps, rng):
    """The loader's batches, epoch after epoch."""
    data = DataLoader(TensorDataset(torch.arange(examples)), batch_size=BATCH)
    loader = DPDataLoader.from_data_loader(data, generator=seeded(rng))
    while steps > 0:
        for (batch,) in loader:
            if steps > 0:
                yield batch.numpy().reshape(-1)
            steps -= 1


def make(device="cpu", dtype="float64"):
    """Opacus, DPOptimizer and DPDataLoader: DP-SGD with Poisson batches, weights in double precision."""
    promise = Promise(sigma=SIGMA, clip=CLIP, divisor=BATCH, examples=EXAMPLES, batch=BATCH, dtype=dtype)

    def at_clip(clip):
        return PrivateOptimizer(partial(step, dtype=getattr(torch, dtype), device=device, clip=clip), batches=batches)

    return replace(at_clip(CLIP), at_clip=at_clip), promise


def make_float32(device="cpu"):
    """Opacus, DPOptimizer and DPDataLoader: DP-SGD with Poisson batches, weights in single precision."""
    return make(device, "float32")
