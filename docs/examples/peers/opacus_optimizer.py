"""Opacus as it comes: DPOptimizer by itself, and a training loop on what PrivacyEngine makes."""

from functools import partial

import numpy as np
import torch
from opacus import PrivacyEngine
from opacus.data_loader import DPDataLoader
from opacus.optimizers import DPOptimizer
from torch.utils.data import DataLoader, TensorDataset

from dpverify.conform import PrivateOptimizer, Promise

CLIP, SIGMA, BATCH, EXAMPLES = 0.7, 1.1, 16, 208
PROMISE = Promise(sigma=SIGMA, clip=CLIP, divisor=BATCH, examples=EXAMPLES, batch=BATCH)


def seeded(rng, device="cpu"):
    """A generator of PyTorch from the one that is given."""
    return torch.Generator(device).manual_seed(int(rng.integers(2**62)))


def step(state, gradients, rng, device):
    """One step with the learning rate 1 from 0: where it ends is what was released."""
    weights = torch.nn.Parameter(torch.zeros(gradients.shape[1], dtype=torch.float64, device=device))
    optimizer = DPOptimizer(
        torch.optim.SGD([weights], lr=1.0),
        noise_multiplier=SIGMA,
        max_grad_norm=CLIP,
        expected_batch_size=BATCH,
        generator=seeded(rng, device),
    )
    weights.grad_sample = torch.from_numpy(np.array(gradients)).to(device)
    optimizer.step()
    return state, -weights


def loop_step(state, gradients, rng, device):
    """One turn of a training loop: a linear model's gradients are its inputs."""
    size = gradients.shape[1]
    linear = torch.nn.Linear(size, 1, bias=False, dtype=torch.float64, device=device)
    torch.nn.init.zeros_(linear.weight)
    data = DataLoader(TensorDataset(torch.zeros(EXAMPLES, size)), batch_size=BATCH)
    model, optimizer, _ = PrivacyEngine().make_private(
        module=linear,
        optimizer=torch.optim.SGD(linear.parameters(), lr=1.0),
        data_loader=data,
        noise_multiplier=SIGMA,
        max_grad_norm=CLIP,
        noise_generator=seeded(rng, device),
    )
    model(torch.from_numpy(np.array(gradients)).to(device)).mean().backward()
    optimizer.step()
    return state, -linear.weight.reshape(-1)


def batches(examples, steps, rng):
    """The loader's batches, epoch after epoch."""
    data = DataLoader(TensorDataset(torch.arange(examples)), batch_size=BATCH)
    loader = DPDataLoader.from_data_loader(data, generator=seeded(rng))
    while steps > 0:
        for (batch,) in loader:
            if steps > 0:
                yield batch.numpy().reshape(-1)
            steps -= 1


def make(device="cpu"):
    """Opacus, DPOptimizer and DPDataLoader: DP-SGD with Poisson batches, weights in double precision."""
    return PrivateOptimizer(partial(step, device=device), batches=batches), PROMISE


def make_loop(device="cpu"):
    """Opacus, PrivacyEngine: a training loop with its model, optimizer and loader, weights in double precision."""
    return PrivateOptimizer(partial(loop_step, device=device), batches=batches), PROMISE
