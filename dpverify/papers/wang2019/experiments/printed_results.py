"""The results of section 6 as printed: Tables 2 and 3 with their data sets, and the networks of section 6.2.

Test errors of the networks are in percent.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PrintedRow:
    """A row of a table as printed: means, each followed by the number in brackets."""

    test_error: tuple[float, float]
    passes: int
    seconds: float
    gradient_norm: tuple[float, float]


@dataclass(frozen=True)
class PaperTable:
    """A table and its data set."""

    data: str
    examples: int
    tested: int
    features: int
    positive: float  # fraction of the examples in the rarer class
    baseline: tuple[float, float]  # test error without privacy
    rows: dict[tuple[float, str], PrintedRow]  # by epsilon and method


TABLES = {
    "table-2": PaperTable(
        "a9a",
        32561,
        16281,
        123,
        0.24,
        (0.3346, 0.007),
        {
            (0.2, "dp-gd"): PrintedRow((0.4153, 0.0110), 20, 1.240, (0.0950, 0.0217)),
            (0.2, "dp-agd"): PrintedRow((0.3708, 0.0045), 360, 95.18, (0.0431, 0.0021)),
            (0.2, "rrpsgd"): PrintedRow((0.4026, 0.0036), 8, 39.50, (0.2138, 0.0111)),
            (0.2, "dp-srm"): PrintedRow((0.3598, 0.0009), 4, 0.6003, (0.0534, 0.0046)),
            (0.2, "ddp-srm"): PrintedRow((0.3629, 0.0017), 4, 11.53, (0.0664, 0.0053)),
            (0.5, "dp-gd"): PrintedRow((0.3856, 0.0066), 20, 1.266, (0.0861, 0.0128)),
            (0.5, "dp-agd"): PrintedRow((0.3619, 0.0041), 365, 95.88, (0.0405, 0.0022)),
            (0.5, "rrpsgd"): PrintedRow((0.3859, 0.0029), 10, 51.90, (0.1460, 0.0128)),
            (0.5, "dp-srm"): PrintedRow((0.3517, 0.0010), 5, 0.7390, (0.0504, 0.0065)),
            (0.5, "ddp-srm"): PrintedRow((0.3572, 0.0022), 5, 13.32, (0.0691, 0.0058)),
        },
    ),
    "table-3": PaperTable(
        "ijcnn1",
        49990,
        91701,
        22,
        0.097,
        (0.2096, 0.002),
        {
            (0.2, "dp-gd"): PrintedRow((0.3160, 0.0120), 20, 0.5180, (0.0184, 0.0024)),
            (0.2, "dp-agd"): PrintedRow((0.2645, 0.0044), 346, 90.05, (0.0133, 0.0018)),
            (0.2, "rrpsgd"): PrintedRow((0.3110, 0.0106), 8, 47.64, (0.0175, 0.0023)),
            (0.2, "dp-srm"): PrintedRow((0.2503, 0.0090), 5, 0.4748, (0.0117, 0.0008)),
            (0.2, "ddp-srm"): PrintedRow((0.2618, 0.0121), 5, 11.62, (0.0136, 0.0009)),
            (0.5, "dp-gd"): PrintedRow((0.2717, 0.0081), 20, 0.4990, (0.0171, 0.0024)),
            (0.5, "dp-agd"): PrintedRow((0.2416, 0.0029), 365, 94.28, (0.0397, 0.0025)),
            (0.5, "rrpsgd"): PrintedRow((0.3033, 0.0110), 10, 59.06, (0.0160, 0.0018)),
            (0.5, "dp-srm"): PrintedRow((0.2341, 0.0042), 5, 0.4368, (0.0082, 0.0005)),
            (0.5, "ddp-srm"): PrintedRow((0.2393, 0.0048), 5, 12.87, (0.0096, 0.0008)),
        },
    ),
}


@dataclass(frozen=True)
class PrintedNetwork:
    """Printed settings and results of one network."""

    data: str
    clip: float  # C_1
    change_clips: tuple[float, ...]  # C_2, which are also the values of gamma
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
