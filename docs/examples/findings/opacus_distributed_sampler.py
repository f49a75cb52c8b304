"""Opacus' distributed sampler: empty batches are dropped, and ranks with equal seeds draw equal positions."""

import os
import warnings
from importlib.metadata import version

import torch
from opacus.data_loader import DPDataLoader
from torch.utils.data import TensorDataset

warnings.simplefilter("ignore")
RECORDS, RATE, RANKS, RUNS = 32, 0.05, 2, 200
DATA = TensorDataset(torch.arange(RECORDS))


def work(rank, queue):
    """Send the positions that this rank draws in each step, in epochs with equal seeds and then different seeds."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29543", "GLOO_SOCKET_IFNAME": "lo"}
    torch.distributed.init_process_group("gloo", rank=rank, world_size=RANKS)
    loader = DPDataLoader(DATA, sample_rate=RATE, distributed=True)
    loader.batch_sampler.shuffle = False  # record 2 i + rank is at position i
    epochs = []
    for seed in [*range(RUNS), *range((rank + 1) * RUNS, (rank + 2) * RUNS)]:
        torch.manual_seed(seed)
        epochs.append([sorted(int(i) // RANKS for i in batch[0]) for batch in loader])
    queue.put((rank, len(loader), epochs))


if __name__ == "__main__":
    queue = torch.multiprocessing.get_context("spawn").SimpleQueue()
    torch.multiprocessing.spawn(work, (queue,), nprocs=RANKS, join=False)
    (_, promised, first), (_, _, second) = sorted(queue.get() for _ in range(RANKS))
    print("opacus", version("opacus"), "torch", torch.__version__)
    mean = sum(map(len, first)) / len(first)
    print(f"{RECORDS} records, rate {RATE}, {RANKS} ranks: {mean:.2f} of {promised} promised batches per epoch")
    uneven = sum(len(a) != len(b) for a, b in zip(first[RUNS:], second[RUNS:], strict=True))
    print(f"different seeds: in {uneven} of {RUNS} epochs the ranks have different numbers of batches")
    equal = sum(a == b for a, b in zip(first[:RUNS], second[:RUNS], strict=True))
    print(f"equal seeds: in {equal} of {RUNS} epochs both ranks draw the same positions in every step")
    raise SystemExit(0 if mean < promised - 1 and equal == RUNS else "not shown by this version")
