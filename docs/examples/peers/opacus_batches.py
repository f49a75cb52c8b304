"""Opacus: a whole training with hooks whose batches are computed in parts, or on several ranks."""

import itertools

import torch
from opacus import PrivacyEngine
from opacus.distributed import DifferentiallyPrivateDistributedDataParallel as Distributed
from opacus.utils.batch_memory_manager import wrap_data_loader
from opacus_training import BATCH, CLIP, DOCUMENTED, PROMISE, SIGMA, STEPS
from torch.nn.utils import parameters_to_vector
from torch.utils.data import DataLoader

__all__ = ["PROMISE", "make_ranks", "make_virtual"]
PARTS = 2  # records of a part
RANKS = f"{DOCUMENTED}, or on the empty batches of a rank, which are left out"
FINDINGS = {"make_virtual": ("privacy", DOCUMENTED), "make_ranks": ("privacy", RANKS)}


def private(dataset, generator, ranks=1):
    """Return the private model, optimizer and loader; the losses are summed, so nothing is divided."""
    model = dataset.torch_model(torch.float32)
    return PrivacyEngine().make_private(
        module=Distributed(model) if ranks > 1 else model,
        optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
        data_loader=DataLoader(dataset.torch_data(torch.float32), batch_size=BATCH, generator=generator),
        noise_multiplier=SIGMA,
        max_grad_norm=CLIP,
        loss_reduction="sum",
        noise_generator=generator,
    )


def weights(model):
    """Return a copy of all weights in one vector."""
    return parameters_to_vector(model.parameters()).detach().clone()


def changes(model, optimizer, loader):
    """Return the changes of the weights. A part of a batch does not move them, unless it is the last one."""
    for (inputs,) in (batch for _ in range(STEPS) for batch in loader):
        model(inputs).sum().backward()
        before = weights(model)
        optimizer.step()
        optimizer.zero_grad()
        change = weights(model) - before
        if change.any():
            yield change


def make_virtual(dataset, seed):
    """Opacus, PrivacyEngine and BatchMemoryManager: batches in parts of two records, in single precision."""
    model, optimizer, loader = private(dataset, torch.Generator().manual_seed(seed))
    parts = wrap_data_loader(data_loader=loader, max_batch_size=PARTS, optimizer=optimizer)  # as the manager does
    return itertools.islice(changes(model, optimizer, parts), STEPS)


def make_ranks(dataset, seed):
    """Opacus, PrivacyEngine on two ranks, with a generator for each: Poisson batches, in single precision."""
    generator = torch.Generator().manual_seed(2 * seed + torch.distributed.get_rank())
    return itertools.islice(changes(*private(dataset, generator, ranks=2)), STEPS)
