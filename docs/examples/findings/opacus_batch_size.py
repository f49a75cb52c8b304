"""Opacus: the engine's divisor, rate and number of steps depend on the number of records."""

import math
import warnings
from importlib.metadata import version

import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")
BATCH, CLIP, MULTIPLIER, DIMENSION = 16, 0.7, 1.1, 20_000


def private(records):
    """Return the divisor, the steps per epoch, the rate, and the deviation of the noise of a step on an empty batch."""
    model = torch.nn.Linear(DIMENSION, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
        data_loader=DataLoader(TensorDataset(torch.zeros(records, DIMENSION)), batch_size=BATCH),
        noise_multiplier=MULTIPLIER,
        max_grad_norm=CLIP,
        noise_generator=torch.Generator().manual_seed(0),
    )
    model(torch.zeros(0, DIMENSION)).sum().backward()
    optimizer.step()
    return optimizer.expected_batch_size, len(loader), loader.sample_rate, float(model._module.weight.std())


print("opacus", version("opacus"), "torch", torch.__version__, "batch_size", BATCH)
shown = {records: private(records) for records in (32, 33, 160, 161)}
for records, (divisor, steps, rate, deviation) in shown.items():
    print(f"{records} records: divisor {divisor}, {steps} steps, rate {rate:.4f}, noise {deviation:.5f}")
print(f"noise of the promised mean: {MULTIPLIER * CLIP / BATCH:.5f}")
raise SystemExit(0 if not math.isclose(shown[32][3], shown[33][3], rel_tol=0.1) else "not shown by this version")
