"""PyVacy 0.0.31: its DPSGD, as its release is used: one call of step for the gradient of the mean loss of a batch."""

import numpy as np
import torch
from pyvacy.optim import DPSGD

from dpverify.conform import PrivateOptimizer, Promise

CLIP, SIGMA, BATCH, EXAMPLES = 0.7, 1.1, 16, 208
PROMISE = Promise(sigma=SIGMA, clip=CLIP, divisor=BATCH, examples=EXAMPLES, batch=BATCH, dtype="float32")
DOCUMENTED = "its page shows DPSGD with 'do training as usual' and its moments accountant; nothing about examples"
FINDINGS = {"make": ("privacy", DOCUMENTED)}


def step_with(clip):
    """Return a step with the learning rate 1 from 0: the weights after it are what was released."""

    def step(state, gradients, rng):
        torch.manual_seed(int(rng.integers(2**62)))
        weights = torch.nn.Parameter(torch.zeros(gradients.shape[1], dtype=torch.float32))
        optimizer = DPSGD(clip, SIGMA, BATCH, [weights], lr=1.0)
        weights.grad = torch.from_numpy(np.sum(gradients, axis=0) / BATCH).to(torch.float32)
        optimizer.step()
        return state, -weights.detach().numpy()

    return step


def make():
    """PyVacy, DPSGD on the gradient of a batch, promised to clip each example, in single precision."""
    return PrivateOptimizer(step_with(CLIP), at_clip=lambda clip: PrivateOptimizer(step_with(clip))), PROMISE
