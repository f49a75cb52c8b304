"""Section 6.2 as printed: networks, parameters, and test errors in percent."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PrintedNetwork:
    """What is printed of one network."""

    data: str
    clip: float  # C_1
    change_clips: tuple[float, ...]  # C_2, which gamma is too
    batches: tuple[int, ...]
    steps: tuple[float, ...]  # step sizes
    errors: dict[float, tuple[float, float]]  # of DP-SRM and DP-SGD, by epsilon
    first: tuple[int, ...] = (1, 2, 4)  # b_0 over b


NETWORKS = {
    "cnn4": PrintedNetwork(
        "MNIST",
        1.5,
        (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99),
        (256, 512, 1024),
        (0.01, 0.05, 0.1, 0.25, 0.5),
        {1.2: (4.49, 5.33), 3.0: (3.62, 3.81), 7.0: (2.91, 2.93)},
    ),
    "cnn5": PrintedNetwork(
        "CIFAR-10",
        2.0,
        (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99),
        (32, 64, 128),
        (0.01, 0.02, 0.05, 0.1, 0.2),
        {6.0: (50.3, 51.0), 8.0: (48.2, 50.2), 10.0: (47.1, 49.3)},
    ),
    "cnn6": PrintedNetwork(
        "CIFAR-10",
        2.0,
        (0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99),
        (64, 128, 256),
        (0.01, 0.02, 0.05, 0.1, 0.15, 0.2),
        {2.0: (33.2, 33.2), 4.0: (31.0, 21.2), 8.0: (29.3, 29.4)},
    ),
}
