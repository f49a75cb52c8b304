"""Tables 2 and 3 made again: data, noise, orderings with a planted reversal, the page, and bad input in a line."""

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import numpy as np
import pytest
from scipy import stats

from dpverify.algorithms.algorithm import Algorithm
from dpverify.algorithms.baselines import DP_AGD, DP_GD, RRPSGD, STORM
from dpverify.algorithms.dp_srm import DDP_SRM, DP_SRM
from dpverify.algorithms.dpageem import DP_SGD
from dpverify.compare.command import run_compare
from dpverify.compare.experiments import run
from dpverify.compare.experiments.experiment import (
    DELTA,
    ExperimentRequest,
    RowCell,
    TunedTrial,
    line,
)
from dpverify.compare.experiments.page import EXPERIMENTS_PAGE, page
from dpverify.compare.experiments.records import Experiments, MethodRow, TableResult
from dpverify.compare.experiments.run import RowsWork, run_experiment
from dpverify.compare.experiments.table_methods import (
    Sampling,
    attained_bounds,
    is_lemma_satisfied,
    ratio,
    settings_for,
    trial_of,
)
from dpverify.compare.experiments.tables import (
    EPSILONS,
    METHODS,
    NOISES,
    PASSES_OF,
    load,
    made_up,
    table_orderings,
)
from dpverify.compare.experiments.words import summary, verdict
from dpverify.compare.figure import draw_table
from dpverify.papers.wang2019.experiments.printed_results import TABLES
from dpverify.privacy.batches import BatchSteps, upper_epsilon
from dpverify.privacy.conversions import zcdp_epsilon
from dpverify.problems.logistic import LogisticRegression
from tests.for_each import for_each

Capture = pytest.CaptureFixture[str]
SMALL = {"n": 200, "seeds": 2, "budget": "smoke"}


@pytest.fixture(scope="module")
def result() -> TableResult:
    made = run_experiment(ExperimentRequest("wang2019:table-3", **SMALL))  # type: ignore[arg-type]
    assert isinstance(made, TableResult)
    return made


def libsvm(path: Path, rows: np.ndarray[Any, Any], labels: list[int]) -> Path:
    lines = [
        f"{label} "
        + " ".join(f"{j + 1}:{value:g}" for j, value in enumerate(row) if value)
        for label, row in zip(labels, rows, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@for_each("name", ["table-2", "table-3"])
def test_a_made_up_set_has_the_shape_of_the_papers(name: str) -> None:
    table = TABLES[name]
    parts = made_up(table)
    assert parts.problem.x.shape == (table.examples, table.features)
    assert parts.x_test.shape == (table.tested, table.features)
    assert np.mean([*parts.problem.y, *parts.y_test]) == pytest.approx(
        table.positive, abs=0.01
    )
    assert not parts.is_published


def test_curves_begin_where_each_method_was_first_looked_at(
    result: TableResult,
) -> None:
    table = result.tables[0]
    for column, axes in enumerate(draw_table(table, "needed").axes[:2]):
        rows = {
            row.method: row
            for row in table.rows
            if (row.noise, row.epsilon) == ("needed", EPSILONS[column])
        }
        for method, curve in zip(
            [one.name for one in METHODS[1:]], axes.lines, strict=True
        ):
            paths = [run.path[1:] for run in rows[method].runs]
            drawn = np.asarray(curve.get_xdata())
            assert drawn[0] == pytest.approx(np.mean([path[0][0] for path in paths]))
            assert len(drawn) == len(paths[0])


def test_noise_as_printed_and_as_needed() -> None:
    how = Sampling(32561, 100, 651)
    printed, needed = (
        ratio(DP_SRM, "printed", how, 0.5),
        ratio(DP_SRM, "needed", how, 0.5),
    )
    rho = 3.5 * how.rate**2 * how.steps / printed**2
    assert zcdp_epsilon(rho, DELTA) == pytest.approx(0.5, rel=1e-9)
    assert 0.49 < attained_bounds(how, needed).upper <= 0.5
    assert attained_bounds(how, printed).upper < 0.5  # more noise than is needed
    assert not is_lemma_satisfied(how, printed)
    assert is_lemma_satisfied(Sampling(10**6, 1000, 10**7), 10.0)
    whole = Sampling(500, 500, 20)
    assert attained_bounds(
        whole, ratio(DP_GD, "needed", whole, 0.2)
    ).upper == pytest.approx(0.2, rel=1e-6)
    first = ratio(RRPSGD, "printed", Sampling(100, 1, 10**4), 0.5)
    assert (2 * first) ** 2 == pytest.approx(
        32 * math.log(100 / DELTA) * math.log(1 / DELTA) / 0.5**2
    )


@for_each(
    ("method", "examples", "batch", "passes", "steps"),
    [
        (DP_SRM, 32561, 50, 4, 1302),
        (RRPSGD, 100, 0, 8, 800),
        (DP_GD, 100, 0, 20, 20),
        (DP_AGD, 100, 0, 360, 16),
        (DP_SGD, 1000, 50, 3, 60),
        (DP_GD, 1000, 0, 3, 3),
        (RRPSGD, 1000, 0, 3, 3000),
        (DP_SRM, 1000, 50, 3, 30),
        (STORM, 1000, 100, 3, 15),
        (DP_AGD, 1000, 0, 3, 1),
        (DP_AGD, 1000, 0, 43, 1),
        (DP_AGD, 1000, 0, 44, 2),
        (DP_AGD, 1000, 0, 65, 2),
        (DP_AGD, 1000, 0, 66, 3),
    ],
)
def test_steps_are_the_gradients_of_the_passes_by_those_of_a_step(
    method: Algorithm[Any], examples: int, batch: int, passes: int, steps: int
) -> None:
    assert settings_for(method, examples, batch, passes)[0].steps == steps


def test_passes_are_printed_or_those_of_another_method() -> None:
    rows = TABLES["table-3"].rows
    for method in METHODS:
        assert rows[0.5, PASSES_OF.get(method.name, method.name)].passes > 0
    assert rows[0.5, PASSES_OF["dp-sgd"]].passes == 5


def rows_with(losses: dict[str, list[float]], result: TableResult) -> list[MethodRow]:
    """Rows whose runs have these objectives, and gradient norms of no order."""
    made: list[MethodRow] = []
    for like in result.tables[0].rows:
        mine = losses.get(like.method, [0.5, 0.5, 0.5])
        noise = np.random.default_rng(len(made)).random(3)
        runs = [
            msgspec.structs.replace(
                like.runs[0],
                loss=loss,
                gradient_norm=norm,
                path=[(0, 1.0, 1.0), (8, loss, norm)],
            )
            for loss, norm in zip(mine, noise.tolist(), strict=True)
        ]
        made.append(msgspec.structs.replace(like, runs=runs))
    return made


def test_settings_are_chosen_on_a_seed_that_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tuned, counted = list[int](), list[int]()

    def tuning_loss(panel: object, trial: object, seed: int) -> float:
        tuned.append(seed)
        return 0.0

    trial = TunedTrial(1, None, cast(Any, None), {})
    panel = SimpleNamespace(
        cells=[RowCell(DP_GD, 0.2)],
        trials=lambda cell: [trial, trial],
        row=lambda **fields: fields,
    )
    monkeypatch.setattr(run, "tuning_loss", tuning_loss)
    monkeypatch.setattr(
        run, "measured_run", lambda panel, trial, seed: counted.append(seed)
    )
    rows = RowsWork(ExperimentRequest("wang2019:table-3", seeds=5, seed=3, n=10))
    rows.panels = [cast(Any, panel)]
    rows.run(0)
    assert counted == [3, 4, 5, 6, 7]
    assert len(tuned) == 2
    assert not set(tuned) & set(counted)


def test_an_ordering_is_judged_by_its_interval_and_a_reversal_is_seen(
    result: TableResult,
) -> None:
    losses = {
        "dp-srm": [0.3, 0.31, 0.29],
        "dp-gd": [0.1, 0.11, 0.1],
        "rrpsgd": [0.9, 0.91, 0.9],
    }
    found = {
        (one.column, one.other): one.seen
        for one in table_orderings(rows_with(losses, result))
        if (one.noise, one.epsilon) == ("needed", 0.2)
    }
    assert found["loss", "dp-gd"] == "the other way round"
    assert (
        found["loss", "rrpsgd"]
        == found["loss_at_equal_passes", "rrpsgd"]
        == "as claimed"
    )
    assert found["gradient_norm", "rrpsgd"] == "no difference seen"
    assert line([(0.0, 1.0), (8.0, 0.2)], 4.0) == pytest.approx(0.6)
    assert line([(0.0, 1.0), (8.0, 0.2)], 9.0) == 0.2


def test_without_the_papers_data_nothing_is_said_of_its_claims(
    result: TableResult,
) -> None:
    claim = "section-6-1-order-objective"
    assert verdict(result.tables, claim, "needed") == "no data"
    real = msgspec.structs.replace(result.tables[0], real=True)
    one = next(o for o in real.orderings if (o.claim, o.noise) == (claim, "needed"))
    for seen, word in (
        ("as claimed", "as claimed"),
        ("the other way round", "not as claimed"),
    ):
        table = msgspec.structs.replace(
            real, orderings=[msgspec.structs.replace(one, seen=seen)]
        )
        assert verdict([table], claim, "needed") == word


def test_every_method_has_a_row_and_the_words_name_the_data(
    result: TableResult,
) -> None:
    assert [table.name for table in result.tables] == [
        "made up, of the shape of ijcnn1",
        "breast_cancer (bundled)",
    ]
    for table in result.tables:
        assert {one.method for one in table.rows} == {method.name for method in METHODS}
        assert len(table.rows) == 1 + 2 * 2 * (len(METHODS) - 1)
        assert all(len(one.runs) == 2 for one in table.rows)
    assert "made up" in summary(result)
    text = page(Experiments(experiments=[result]))
    assert text.count("no data |") == 20
    assert (
        "`dpverify compare --experiment wang2019:table-3 --data ijcnn1 --test-data ijcnn1.t`"
        in text
    )


def test_the_users_files_make_a_page_that_is_a_function_of_its_data(
    tmp_path: Path, capsys: Capture
) -> None:
    rng = np.random.default_rng(0)
    rows = (rng.random((150, 6)) < 0.4).astype(float)
    train = libsvm(tmp_path / "train", rows[:120], [1, -1] * 60)
    test = libsvm(tmp_path / "test", rows[120:, :4], [1, -1] * 15)
    asked: dict[str, Any] = {
        "experiment": "wang2019:table-2",
        "data": train,
        "test_data": test,
        "seeds": 2,
        "budget": "smoke",
    }
    (parts,) = load(ExperimentRequest(**asked), TABLES["table-2"])
    assert parts.x_test.shape == (30, 6)
    assert isinstance(parts.x_test, np.ndarray)
    assert not parts.x_test[:, 4:].any()
    assert not parts.is_published
    same = replace(TABLES["table-2"], examples=120, tested=30, features=6, positive=0.5)
    changes: tuple[dict[str, Any], ...] = (
        {},
        {"tested": 31},
        {"features": 7},
        {"examples": 121},
        {"positive": 0.4},
    )
    published = [
        load(ExperimentRequest(**asked), replace(same, **change))[0].is_published
        for change in changes
    ]
    assert published == [True, False, False, False, False]
    assert run_compare(**asked, report=tmp_path / "out") == 0
    held = EXPERIMENTS_PAGE.read(tmp_path / "out")
    assert held is not None
    words = "dpverify compare --experiment wang2019:table-2 --data train --test-data test --seeds 2 --budget smoke"
    assert held.experiments[0].command == words == ExperimentRequest(**asked).command
    assert (
        EXPERIMENTS_PAGE.check(tmp_path / "out")
        == EXPERIMENTS_PAGE.regenerate(tmp_path / "out")
        == []
    )
    (tmp_path / "out" / "experiments.md").write_text(
        "<!-- Generated by dpverify from data/*.json. -->\nother"
    )
    assert EXPERIMENTS_PAGE.check(tmp_path / "out") == ["experiments.md"]
    assert EXPERIMENTS_PAGE.regenerate(tmp_path / "out") == ["experiments.md"]
    capsys.readouterr()
    (tmp_path / "out" / "data" / "experiments.json").write_text("{")
    assert run_compare(**asked, report=tmp_path / "out") == 2
    assert capsys.readouterr().err.count("\n") == 1


@for_each(
    ("changes", "rule"),
    [
        (
            {"experiment": "wang2019:table-9"},
            "must be one of wang2019:table-2, wang2019:table-3, wang2019:section-6-2",
        ),
        ({"test_data": Path("x")}, "must come with data to train on"),
        ({"epsilon": 1.0}, "must be left out"),
        ({"seeds": 1}, "seeds"),
        ({"n": 5}, "n "),
        ({"budget": "full"}, "must be one of smoke, standard"),
        ({"data": Path("nowhere")}, "no such file"),
    ],
)
def test_bad_input_gets_one_line_and_2(
    changes: dict[str, Any], rule: str, capsys: Capture
) -> None:
    assert run_compare(**{"experiment": "wang2019:table-2", **SMALL, **changes}) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert rule in err


def test_test_files_that_do_not_fit_are_refused(
    tmp_path: Path, capsys: Capture
) -> None:
    rows = np.eye(6)
    train = libsvm(tmp_path / "train", rows[:, :4] + rows[:, 2:], [1, -1] * 3)
    wide = libsvm(tmp_path / "wide", rows, [1, -1] * 3)
    other = libsvm(tmp_path / "other", rows[:, :4] + 1.0, [1, 2] * 3)
    for file, rule in ((wide, "has 6 features"), (other, "has the labels")):
        assert (
            run_compare(experiment="wang2019:table-2", data=train, test_data=file) == 2
        )
        assert rule in capsys.readouterr().err
    assert run_compare(epsilon=None, delta=1e-5) == 2
    assert "epsilon must be given as --epsilon" in capsys.readouterr().err
    assert run_compare(epsilon=1.0, delta=1e-5, budget="smoke") == 2
    assert "goes with an experiment" in capsys.readouterr().err


@for_each(("s", "holds"), [(0.75, False), (0.836, False), (0.837, True)])
def test_lemma_3_7_asks_for_a_variance_of_at_least_7_tenths(
    s: float, holds: bool
) -> None:
    """In batches so small, and so many of them, that its other conditions hold at any noise."""
    assert is_lemma_satisfied(Sampling(10**6, 1000, 10**9), s) == holds


def test_all_orderings_together_have_the_level_that_is_said(
    result: TableResult,
) -> None:
    """Each interval by scipy, at 5% over how many there are."""
    losses = {"dp-srm": [0.3, 0.31, 0.29], "dp-gd": [0.1, 0.12, 0.1]}
    found = table_orderings(rows_with(losses, result))
    part = 0.05 / len(found)
    judged = [
        one.difference for one in found if (one.column, one.other) == ("loss", "dp-gd")
    ]
    apart = np.subtract(losses["dp-srm"], losses["dp-gd"])
    low, high = stats.t.interval(
        1.0 - part, 2, loc=apart.mean(), scale=stats.sem(apart)
    )
    assert len(judged) == len(NOISES) * len(EPSILONS)
    assert [one.low for one in judged] == pytest.approx([low] * len(judged))
    assert [one.high for one in judged] == pytest.approx([high] * len(judged))


def test_a_broken_line_is_read_between_the_looks_on_either_side() -> None:
    points = [(0.0, 1.0), (1.0, 0.5), (2.0, 0.4), (4.0, 0.0)]
    assert [line(points, x) for x in (0.5, 1.0, 1.5, 3.0)] == pytest.approx(
        [0.75, 0.5, 0.45, 0.2]
    )


def test_parties_of_unequal_size_draw_most_often_among_the_fewest() -> None:
    """Ten parties of 103 examples: some have 10, of which each step of 50 reads 5."""
    rng = np.random.default_rng(0)
    problem = LogisticRegression(
        rng.standard_normal((103, 2)), (rng.random(103) < 0.5).astype(float)
    )
    one = trial_of(DDP_SRM, problem, "needed", 0.5, 1, 50, 1.0)
    assert one.epsilon is not None
    assert (
        one.epsilon.upper
        == upper_epsilon([BatchSteps(5 / 10, one.setting["ratio"], one.steps)], DELTA)
        <= 0.5
    )


def test_without_privacy_nothing_is_clipped() -> None:
    rng = np.random.default_rng(0)
    x = 100.0 * rng.standard_normal((20, 2))
    problem = LogisticRegression(x, (rng.random(20) < 0.5).astype(float), lam=0.0)
    storm = trial_of(STORM, problem, "needed", 0.5, 1, 20, 1.0).start(0)
    old, new, out = np.array([1e-3, 0.0]), np.array([-1e-3, 2e-3]), np.zeros(2)
    storm._oracle.change(new, old, np.arange(20), 0.0, out)  # type: ignore[attr-defined]  # a Storm
    assert out == pytest.approx(problem.gradient(new) - problem.gradient(old), rel=1e-9)
