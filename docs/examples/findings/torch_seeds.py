"""A CPU generator of PyTorch uses only 32 bits of its seed, so noise can be recovered by trying all seeds."""

from time import perf_counter

import torch


def first_noise(seed):
    """Return the first standard normal number of a generator with this seed."""
    return float(torch.randn((), dtype=torch.float64, generator=torch.Generator().manual_seed(seed)))


print("torch", torch.__version__)
seed = torch.Generator().seed()
shorter = seed % 2**32
print(f"seed {seed} and its remainder {shorter} give the same noise: {first_noise(seed) == first_noise(shorter)}")

gradient, sigma = 0.5, 1.1
released = gradient + sigma * first_noise(seed)
first = shorter - 20_000
start = perf_counter()
trials = range(first, shorter + 1)
explained = [trial for trial in trials if abs(released - sigma * first_noise(trial) - gradient) < 1e-12]
seconds = perf_counter() - start
print(f"seeds among {shorter + 1 - first} that explain the release by a gradient of 0.5: {explained}")
print(f"all 2^32 seeds at this speed: {seconds * 2**32 / 20_001 / 3600:.0f} hours of one core, without any tuning")
raise SystemExit(0 if explained == [shorter] else "not shown by this version")
