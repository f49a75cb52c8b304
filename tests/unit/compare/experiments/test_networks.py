"""Section 6.2 made again on files written here: orderings with a planted reversal, the page, Ctrl-C, bad input."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpverify.algorithms.dp_srm import DP_SRM
from dpverify.algorithms.dpageem import DP_SGD, SGD_STAGES
from dpverify.compare.command import run_compare
from dpverify.compare.experiments import run as experiment_runs
from dpverify.compare.experiments import stages
from dpverify.compare.experiments.experiment import (
    DELTA,
    ExperimentRequest,
    OrderStatement,
    RowCell,
    spread,
)
from dpverify.compare.experiments.network_panel import (
    NetworkPanel,
    data_sets_in,
    image_parts,
    network_noise,
    network_orderings,
)
from dpverify.compare.experiments.networks import (
    CLAIMS,
    MAX_TRIALS,
    METHODS,
    NetworkSetting,
    grid,
    network_panels,
)
from dpverify.compare.experiments.page import EXPERIMENTS_PAGE
from dpverify.compare.experiments.records import NetworkResult, NetworkRow, NetworkRun
from dpverify.compare.experiments.run import run_experiment
from dpverify.compare.experiments.stages import ORDERS, PRIVATE, SIZES, schedule
from dpverify.compare.experiments.words import summary, verdict
from dpverify.kernels.check import ArgumentError
from dpverify.papers.wang2019.experiments.printed_results import NETWORKS
from dpverify.problems.errors import DataError
from dpverify.problems.images import CLASS_SIZES
from tests.for_each import for_each

Capture = pytest.CaptureFixture[str]
NAME = "wang2019:section-6-2"


SAID = [
    OrderStatement(claim, column, DP_SRM, DP_SGD)
    for claim, columns in CLAIMS["cnn4"].items()
    for column in columns
]


def idx(array: np.ndarray[Any, Any]) -> bytes:
    return (
        np.array([0x800 + array.ndim, *array.shape], dtype=">u4").tobytes()
        + array.astype(np.uint8).tobytes()
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a few images, whose classes have the sizes that MNIST's are said to have."""
    rng, made = np.random.default_rng(0), tmp_path / "images"
    made.mkdir()
    sizes = []
    for part, n in (("train", 300), ("t10k", 40)):
        y = rng.integers(0, 10, n)
        sizes.append(tuple(np.bincount(y, minlength=10).tolist()))
        (made / f"{part}-images-idx3-ubyte").write_bytes(
            idx(rng.integers(0, 40, (n, 28, 28)) + 20 * y[:, None, None])
        )
        (made / f"{part}-labels-idx1-ubyte").write_bytes(idx(y))
    monkeypatch.setitem(CLASS_SIZES, "MNIST", tuple(sizes))
    return made


def run(errors: list[float], seconds: float = 1.0) -> NetworkRun:
    return NetworkRun(
        seed=0,
        seconds=seconds,
        path=[(10 * k, error, error) for k, error in enumerate(errors)],
    )


def row(method: str, runs: list[NetworkRun], epsilon: float = 3.0) -> NetworkRow:
    return NetworkRow(
        method=method, epsilon=epsilon, setting="", steps=20, tried=1, runs=runs
    )


def test_iterations_to_a_level_are_read_between_looks() -> None:
    assert run([0.9, 0.5, 0.1]).reached(0.3) == pytest.approx(15.0)
    assert run([0.9, 0.5, 0.1]).reached(0.95) == 0.0
    assert run([0.9, 0.5, 0.4]).reached(0.3) == 20.0


def test_an_ordering_is_judged_by_its_interval_and_a_reversal_is_seen() -> None:
    good = [run([0.9, 0.2 + 0.001 * k, 0.1], 0.5) for k in range(4)]
    bad = [run([0.9, 0.6 + 0.003 * k, 0.4], 2.0) for k in range(4)]
    for mine, other, seen in (
        (good, bad, "as claimed"),
        (bad, good, "the other way round"),
    ):
        found = network_orderings(SAID, [row("dp-sgd", other), row("dp-srm", mine)])
        assert [one.column for one in found] == ["test_error", "iterations", "seconds"]
        assert {one.seen for one in found} == {seen}
    assert {
        one.seen
        for one in network_orderings(SAID, [row("dp-sgd", good), row("dp-srm", good)])
    } == {"no difference seen"}
    assert network_orderings(SAID, [row("dp-sgd", good)]) == []


def test_settings_are_drawn_alike_and_noise_is_certified() -> None:
    request = ExperimentRequest(NAME)
    for printed in NETWORKS.values():
        drawn = {
            method.name: grid(method, printed, 50_000, request) for method in METHODS
        }
        assert {len(set(settings)) for settings in drawn.values()} == {MAX_TRIALS}
        assert all(b_0 <= 400 for _, b_0, _, _ in grid(DP_SRM, printed, 400, request))
    for method, batch_0 in ((DP_SRM, 512), (DP_SGD, 256)):
        bought = network_noise(method, 60_000, 2000, 256, batch_0, 3.0)
        assert bought.epsilon.upper <= 3.0 <= 1.25 * bought.epsilon.lower
    assert DELTA == 1e-5


@pytest.mark.slow
def test_the_estimates_noise_is_that_of_the_clipped_estimator() -> None:
    pytest.importorskip("torch", reason="the extra torch is not installed")
    request = ExperimentRequest(NAME, budget="smoke", n=600, epochs=4)
    panel = network_panels(request)[0]
    trial = panel.trial(RowCell(DP_SRM, 1.2), NetworkSetting(256, 512, 0.3, 0.25))
    p = trial.start(0).parameters  # type: ignore[attr-defined]  # a DpSrm
    k = network_noise(DP_SRM, 600, trial.steps, 256, 512, 1.2).noise
    assert p.std_0 == pytest.approx(2 * 1.5 * k / 600)
    assert p.std == pytest.approx(2 * (0.3 * 1.5 + 0.7 * 0.3) * k / 600)
    assert 0.5 / p.smoothness == pytest.approx(0.25)
    assert trial.steps == 4 * 600 // 512


def test_other_images_in_the_format_of_mnist_decide_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = ExperimentRequest(NAME, folder)
    assert image_parts(request, "MNIST", 1, 28).is_published
    # as Fashion-MNIST has them
    monkeypatch.setitem(CLASS_SIZES, "MNIST", ((6000,) * 10, (1000,) * 10))
    parts = image_parts(request, "MNIST", 1, 28)
    assert (parts.is_published, parts.train.name) == (
        False,
        "images, which is not MNIST",
    )


@pytest.mark.slow
def test_files_of_the_user_make_a_page_that_is_a_function_of_its_data(
    folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    pytest.importorskip("torch", reason="the extra torch is not installed")
    asked: dict[str, Any] = {
        "experiment": NAME,
        "data": folder,
        "seeds": 2,
        "budget": "smoke",
        "epochs": 3,
    }
    assert (
        run_compare(
            **asked,
            report=tmp_path / "out",
            figure=tmp_path / "a.svg",
            json=str(tmp_path / "a.json"),
        )
        == 0
    )
    held = EXPERIMENTS_PAGE.read(tmp_path / "out")
    assert held is not None
    (made,) = held.networks
    (table,) = made.tables
    assert made.command == ExperimentRequest(**asked).command
    assert made.command.endswith(
        f"{NAME} --data images --epochs 3 --seeds 2 --budget smoke"
    )
    assert (table.real, table.n, table.tested, table.d) == (True, 300, 40, 26010)
    assert [one.method for one in table.rows] == [method.name for method in METHODS]
    assert all(one.certified is not None and one.certified <= 1.2 for one in table.rows)
    assert {one.claim for one in table.orderings} == set(CLAIMS["cnn4"])
    assert (
        verdict(made.tables, "section-6-2-mnist-error")
        != "no data"
        == verdict(made.tables, "section-6-2-cnn5-error")
    )
    assert "cnn4 on MNIST" in capsys.readouterr().out
    assert (tmp_path / "a.svg").is_file()
    assert (
        EXPERIMENTS_PAGE.check(tmp_path / "out")
        == EXPERIMENTS_PAGE.regenerate(tmp_path / "out")
        == []
    )
    assert (
        "section-6-2-mnist-faster" in (tmp_path / "out" / "experiments.md").read_text()
    )


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_finished(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch", reason="the extra torch is not installed")
    measured, calls = experiment_runs.measured_run, []

    def interrupted(*words: Any) -> NetworkRun:
        calls.append(words)
        if len(calls) > stop:
            raise KeyboardInterrupt
        taken: NetworkRun = measured(*words)
        return taken

    monkeypatch.setattr(experiment_runs, "measured_run", interrupted)
    request, stop = ExperimentRequest(NAME, folder, budget="smoke", seeds=2), 3
    result = run_experiment(request)
    assert isinstance(result, NetworkResult)
    assert result.interrupted
    assert [one.method for one in result.tables[0].rows] == ["dp-sgd"]
    assert "only methods that were finished" in summary(result)
    stop = 4
    with pytest.raises(KeyboardInterrupt):
        run_experiment(request)


@for_each(
    ("asked", "words"),
    [
        ({"data": Path("/nowhere")}, "must be a folder"),
        ({"epsilon": 1.0}, "must be left out"),
        ({"seeds": 1}, "seeds"),
        ({"epochs": 0}, "epochs"),
        ({"settings": 0}, "settings"),
        ({"n": 3}, "n must"),
    ],
)
def test_bad_input_is_one_line(
    asked: dict[str, Any], words: str, capsys: Capture
) -> None:
    assert run_compare(experiment=NAME, figure=None, **asked) == 2
    error = capsys.readouterr().err
    assert words in error or "torch" in error
    assert error.count("\n") == 1


def test_all_methods_of_section_4_1_take_as_many_steps_and_momentum_as_they_say() -> (
    None
):
    made = {
        method.name: schedule(method, 5, 0.4, 64, 0.1)
        for method in (*PRIVATE, SGD_STAGES)
    }
    assert {one.steps for one in made.values()} == {70}
    on = {
        method: int((one.factors(0, 70)[1] > 0).sum()) for method, one in made.items()
    }
    assert on == dict.fromkeys(made, 0) | {"dpageem": 28, "dp-sgdm": 70, "dp-sgdem": 35}
    assert [stage.eta for stage in made["dpages"].stages] == [0.2, 0.1, 0.05]
    assert made["dp-sgd-linear"].factors(0, 4)[0] == pytest.approx(
        [0.4, 0.2, 0.4 / 3, 0.1]
    )
    assert made["dp-sgd-root"].factors(3, 4)[0] == pytest.approx([0.2])
    assert {better.name for better, _ in ORDERS["stages"]} == {"dpages"}


def test_few_settings_of_section_6_2_have_the_same_step_sizes_for_both_methods() -> (
    None
):
    for printed in NETWORKS.values():
        sizes = []
        for method in METHODS:
            settings = grid(
                method, printed, 50_000, ExperimentRequest(NAME, settings=3)
            )
            sizes.append([setting.eta for setting in settings])
        assert sizes[0] == sizes[1]
        assert len(set(sizes[0])) == 3


def test_fewer_settings_are_spread_over_the_grid() -> None:
    assert spread(SIZES, 4) == [0.01, 0.1, 1.0, 10.0]
    assert spread(SIZES, 1) == [0.3]
    assert spread(SIZES, 9) == spread(SIZES, None) == list(SIZES)


@pytest.mark.slow
def test_figure_1_has_all_methods_at_one_noise(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch", reason="the extra torch is not installed")
    # on the way; only the ends are compared here
    monkeypatch.setattr(NetworkPanel, "evaluations", 2)
    monkeypatch.setattr(stages, "BATCH", 16)
    request = ExperimentRequest(
        "zhang2021:figure-1", folder, budget="smoke", seeds=2, epochs=1
    )
    result = run_experiment(request)
    assert isinstance(result, NetworkResult)
    (table,) = result.tables
    assert (table.network, table.real) == ("cnn2", True)
    assert [one.method for one in table.rows] == [
        method.name for method in (SGD_STAGES, *PRIVATE)
    ]
    assert {one.steps for one in table.rows} == {14}
    assert len({one.certified for one in table.rows}) == 2
    assert len(table.orderings) == 2 * sum(map(len, ORDERS.values()))
    assert verdict([table], "section-4-2-stages-mnist-testing") != "no data"
    plain, private = (
        table.rows[0].mean("train_error").mean,
        table.rows[1].mean("train_error").mean,
    )
    assert plain < 0.9
    assert private <= 1.0


def test_folders_with_other_things_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="neither"):
        data_sets_in(tmp_path)
    (tmp_path / "data_batch_1").touch()
    assert data_sets_in(tmp_path) == ["CIFAR-10"]
    with pytest.raises(ArgumentError, match="test_data"):
        ExperimentRequest(NAME, test_data=tmp_path)


def test_all_orderings_together_have_the_level_that_is_said() -> None:
    """Three claims at two values of epsilon each: intervals by scipy, at 5% over six."""
    good = [run([0.9, 0.2 + 0.001 * k, 0.1 + 0.01 * k], 0.5) for k in range(4)]
    bad = [run([0.9, 0.6, 0.4 - 0.02 * k**2], 2.0) for k in range(4)]
    rows = [
        row(method, runs, e)
        for e in (1.0, 3.0)
        for method, runs in (("dp-sgd", bad), ("dp-srm", good))
    ]
    found = [
        one.difference
        for one in network_orderings(SAID, rows)
        if one.column == "test_error"
    ]
    apart = np.array(
        [a.test_error - b.test_error for a, b in zip(good, bad, strict=True)]
    )
    low, high = stats.t.interval(
        1.0 - 0.05 / 6, 3, loc=apart.mean(), scale=stats.sem(apart)
    )
    assert [one.low for one in found] == pytest.approx([low] * 2)
    assert [one.high for one in found] == pytest.approx([high] * 2)


def test_a_first_batch_of_all_examples_may_be_drawn() -> None:
    request = ExperimentRequest(NAME)
    for printed in NETWORKS.values():
        first = min(b * times for b in printed.batches for times in printed.first)
        assert {b_0 for _, b_0, _, _ in grid(DP_SRM, printed, first, request)} == {
            first
        }
