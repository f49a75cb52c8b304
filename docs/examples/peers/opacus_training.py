"""Opacus: a whole training with PrivacyEngine, with per-example gradients by hooks or with ghost clipping."""

import itertools
import logging
import warnings

import torch
from opacus import PrivacyEngine
from torch.nn.utils import parameters_to_vector
from torch.utils.data import DataLoader

from dpverify.conform import Promise

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
CLIP, SIGMA, BATCH, EXAMPLES, STEPS = 0.7, 1.1, 4, 24, 4
PROMISE = Promise(sigma=SIGMA, clip=CLIP, steps=STEPS, examples=EXAMPLES, batch=BATCH, dtype="float32")
DOCUMENTED = (
    "DPDataLoader derives the rate from the batch size of the given loader; nothing on a secret number of records"
)
FINDINGS = {"make": ("privacy", DOCUMENTED), "make_ghost": ("privacy", f"{DOCUMENTED}, or on precision")}


def training(dataset, seed, mode):
    """Yield the changes of the weights. The losses are summed, so nothing is divided."""
    generator = torch.Generator().manual_seed(seed)
    model = dataset.torch_model(torch.float32)
    loader = DataLoader(dataset.torch_data(torch.float32), batch_size=BATCH, generator=generator)
    model, optimizer, *criterion, loader = PrivacyEngine().make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
        criterion=lambda losses, *_: losses.sum() if mode == "hooks" else losses,
        data_loader=loader,
        noise_multiplier=SIGMA,
        max_grad_norm=CLIP,
        loss_reduction="sum",
        grad_sample_mode=mode,
        noise_generator=generator,
    )
    batches = (batch for _ in range(STEPS) for batch in loader)
    for (inputs,) in itertools.islice(batches, STEPS):
        optimizer.zero_grad()
        losses = model(inputs)
        (criterion[0](losses) if criterion else losses.sum()).backward()
        before = parameters_to_vector(model.parameters()).detach()
        optimizer.step()
        yield parameters_to_vector(model.parameters()).detach() - before


def make(dataset, seed):
    """Opacus, PrivacyEngine with hooks: a whole training on Poisson batches, in single precision."""
    return training(dataset, seed, "hooks")


def make_ghost(dataset, seed):
    """Opacus, PrivacyEngine with ghost clipping: a whole training on Poisson batches, in single precision."""
    return training(dataset, seed, "ghost")
