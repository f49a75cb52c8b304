"""What a seed draws besides a run: the sample, what is held out, and each of the run's own numbers, apart."""

from __future__ import annotations

from dpverify.compare import run as comparisons
from dpverify.compare.experiments import tables
from dpverify.papers.wang2019.algorithms.baselines import CHOICES
from dpverify.papers.zhang2021.algorithms.dpageem import HANDED
from dpverify.problems import images
from dpverify.problems.sampled_run import BATCHES, OUTPUT
from dpverify.train import run as training

# of every run, ``kernels.epochs`` and ``problems.stepped_run``
PERMUTATIONS, NOISE = 0, 1


def test_no_two_things_that_one_seed_draws_have_one_stream() -> None:
    drawn = [
        PERMUTATIONS,
        NOISE,
        training.SAMPLE_STREAM,
        comparisons.SPLIT_STREAM,
        BATCHES,
        OUTPUT,
        CHOICES,
        HANDED,
    ]
    assert len(set(drawn)) == len(drawn)
    assert training.SAMPLE_STREAM == tables.SAMPLE_STREAM
    assert {comparisons.SPLIT_STREAM, tables.SPLIT_STREAM} == {images.SPLIT_STREAM}
