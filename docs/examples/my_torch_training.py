"""A training in PyTorch with per-example gradients by torch.func, for one process or several ranks."""

import torch
from torch import distributed
from torch.func import functional_call, grad, vmap

from dpverify.conform import Promise

CLIP, SIGMA, BATCH, EXAMPLES, STEPS = 0.7, 1.1, 4, 24, 4
PROMISE = Promise(sigma=SIGMA, clip=CLIP, divisor=BATCH, steps=STEPS, examples=EXAMPLES, batch=BATCH)


def make(dataset, seed):
    """Yield the change of the weights in each step of DP-SGD on Poisson samples, with noise from rank 0."""
    rank, ranks = (distributed.get_rank(), distributed.get_world_size()) if distributed.is_initialized() else (0, 1)
    model = dataset.torch_model(torch.float64)  # your model; the tests use a linear model, a sequence and a convolution
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    (inputs,) = dataset.torch_data(torch.float64).tensors
    own = inputs[rank::ranks]
    sampler = torch.Generator().manual_seed(seed * ranks + rank)  # each rank draws its own records
    noise = torch.Generator().manual_seed(2**40 + seed)

    def loss(weights, record):
        return functional_call(model, weights, record[None]).sum()

    for _ in range(STEPS):
        batch = own[torch.rand(len(own), generator=sampler) < BATCH / EXAMPLES]
        weights = {name: weight.detach() for name, weight in model.named_parameters()}
        rows = torch.zeros((0, dataset.dimension), dtype=torch.float64)  # for an empty batch
        if len(batch):
            gradients = vmap(grad(loss), in_dims=(None, 0))(weights, batch)
            rows = torch.cat([gradient.flatten(1) for gradient in gradients.values()], dim=1)
        total = (rows * (CLIP / rows.norm(dim=1, keepdim=True).clamp(min=1e-12)).clamp(max=1.0)).sum(dim=0)
        if rank == 0:
            total += SIGMA * CLIP * torch.randn(len(total), generator=noise, dtype=torch.float64)
        if ranks > 1:
            distributed.all_reduce(total)
        before = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
        parts = (total / BATCH).split([weight.numel() for weight in model.parameters()])
        for weight, part in zip(model.parameters(), parts, strict=True):
            weight.grad = part.view_as(weight)
        optimizer.step()
        yield torch.nn.utils.parameters_to_vector(model.parameters()).detach() - before
