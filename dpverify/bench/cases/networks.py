"""Networks: gradients by example through torch.func on digits, and files of images."""

from __future__ import annotations

from typing import Any

from dpverify.bench.case import BenchCase, Forms, Missing, Target

PARAMETERS = 9050  # d of the two-layer CNN on digits


def _gradients(*, seed: int, batch: int) -> Forms:
    """Compute per-example gradients and their clipped mean; the peer computes one plain gradient of the mean loss."""
    import numpy as np

    from dpverify.kernels.check import ArgumentError
    from dpverify.problems.images import digits
    from dpverify.problems.networks.oracle import NetworkGradients, load_torch

    try:
        torch = load_torch()
    except ArgumentError:
        return dict.fromkeys(
            ("mean", "rows", "clipped mean"), Missing("torch is not installed")
        )
    from dpverify.problems.networks import make_network

    torch.set_num_threads(1)
    images = digits(seed)[0]
    nn = torch.nn
    oracle = NetworkGradients(make_network("cnn2", (1, 8, 8), seed), images, 1.0)
    batch_indices = np.random.default_rng(seed).permutation(len(images.y))[:batch]
    out = np.empty(len(oracle.start))
    x = torch.from_numpy(images.x[batch_indices]).float() / images.top
    y = torch.from_numpy(images.y[batch_indices])
    first = nn.Conv2d(1, 16, 3, padding=1), nn.ELU(), nn.AvgPool2d(2)
    second = nn.Conv2d(16, 48, 3, padding=1), nn.ELU(), nn.AvgPool2d(2)
    plain = nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(192, 10))
    parameters = list(plain.parameters())

    def mean() -> Any:
        return torch.autograd.grad(nn.functional.cross_entropy(plain(x), y), parameters)

    return {
        "mean": mean,
        "rows": lambda: oracle.gradients(oracle.start, batch_indices),
        "clipped mean": lambda: oracle(oracle.start, batch_indices, out),
    }


def _idx(*, seed: int, images: int, side: int) -> Forms:
    """Read a file of images; the limit reads and decompresses its bytes."""
    import atexit
    import gzip
    import shutil
    import tempfile
    from pathlib import Path

    import numpy as np

    from dpverify.problems.images import read_idx

    path = Path(tempfile.mkdtemp()) / "images.gz"
    atexit.register(shutil.rmtree, path.parent)
    header = np.array([0x803, images, side, side], dtype=">u4").tobytes()
    pixels = np.random.default_rng(seed).integers(
        0, 256, images * side * side, dtype=np.uint8
    )
    pixels[pixels < 200] = 0  # most of a digit is background
    path.write_bytes(gzip.compress(header + pixels.tobytes(), 1))
    return {
        "unpack": lambda: gzip.decompress(path.read_bytes()),
        "read": lambda: read_idx(path, 3),
    }


CASES: tuple[BenchCase, ...] = (
    *(
        BenchCase(
            f"gradients-{batch}",
            f"One gradient per example for {batch} digits, d = {PARAMETERS}, against one plain gradient of their mean",
            _gradients,
            forms=("mean", "rows", "clipped mean"),
            parameters={"batch": batch},
            targets=[
                Target("rows", at_most=limit),
                Target(
                    "rows",
                    at_most=3.0 * batch * PARAMETERS * 4,
                    kind="memory",
                    words="3 B d numbers of 32 bits",
                ),
            ],
            peers=("mean",),
        )
        for batch, limit in ((64, 2.0), (256, 3.0))
    ),
    BenchCase(
        "idx",
        "MNIST's training images, read from a packed IDX file, against reading and unpacking its bytes",
        _idx,
        forms=("unpack", "read"),
        parameters={"images": 60_000, "side": 28},
        clock="process",
        targets=[Target("read", at_most=2.0)],
    ),
)
