"""``compare --report``: a page and figures that are pure functions of the data, several comparisons on one page."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from matplotlib.collections import LineCollection
from sklearn.datasets import dump_svmlight_file, load_digits

from dpverify.cli import main
from dpverify.compare import CompareRequest, CompareResult, compare, run_compare
from dpverify.compare import command as compare_command
from dpverify.compare.command import merged, recorded
from dpverify.compare.figure import draw
from dpverify.compare.methods import METHODS
from dpverify.compare.page import (
    COMPARISON_PAGE,
    PAIRS,
    QUESTIONS,
    differences,
    family,
    figure_names,
    page,
)
from dpverify.compare.records import (
    MEASURES,
    Comparisons,
    RecordedComparison,
    SeedOutcome,
    corrected_level,
    interval,
)
from dpverify.ledger.records import encode
from dpverify.report.pages.write import regenerate as regenerate_report
from dpverify.report.pages.write import write_report
from dpverify.report.words import FIGURE_MARK, GENERATED
from tests.for_each import for_each
from tests.unit.report.rendering import dead_links, raw_tables
from tests.unit.report.sample import sample_run

ROOT = Path(__file__).parents[3]
Capture = pytest.CaptureFixture[str]
SMALL: dict[str, Any] = {
    "epsilon": 2.0,
    "delta": 1e-5,
    "n": 60,
    "epochs": 1,
    "seeds": 3,
}


@pytest.fixture(scope="module")
def result() -> CompareResult:
    return compare(CompareRequest(**SMALL))


@pytest.fixture
def one(result: CompareResult) -> RecordedComparison:
    return recorded(CompareRequest(**SMALL), result)


def moved(result: CompareResult, name: str, by: float) -> CompareResult:
    """The same comparison with every number of a method moved."""

    def shift(outcome: SeedOutcome) -> SeedOutcome:
        return msgspec.structs.replace(
            outcome, **{measure: getattr(outcome, measure) + by for measure in MEASURES}
        )

    methods = [
        msgspec.structs.replace(
            method, outcomes=[shift(outcome) for outcome in method.outcomes]
        )
        if method.name == name
        else method
        for method in result.methods
    ]
    return msgspec.structs.replace(result, methods=methods)


def test_bars_of_the_figure_are_the_intervals(result: CompareResult) -> None:
    for axes, measure in zip(draw(result).axes, MEASURES, strict=True):
        found = [
            part.get_segments()[0][:, 1].tolist()
            for part in axes.collections
            if isinstance(part, LineCollection)
        ]
        means = [method.means[measure] for method in result.methods]
        assert found == [
            [pytest.approx(mean.low), pytest.approx(mean.high)] for mean in means
        ]
        assert all(mean.low is not None and mean.low < mean.mean for mean in means)


def test_the_folder_holds_data_page_and_figure(tmp_path: Path, capsys: Capture) -> None:
    assert run_compare(**SMALL, report=tmp_path) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert f"wrote {tmp_path / 'comparison.md'}" in out
    found = {
        path.relative_to(tmp_path).as_posix()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    figure = "figures/comparison-breast-cancer-epsilon-2.svg"
    assert found == {"comparison.md", "data/comparison.json", figure}
    assert COMPARISON_PAGE.check(tmp_path) == []
    assert COMPARISON_PAGE.regenerate(tmp_path) == []
    text = (tmp_path / "comparison.md").read_text(encoding="utf-8")
    assert dead_links({"comparison.md": text}, found) == []
    assert str(tmp_path) not in text
    assert (
        "dpverify compare --epsilon 2 --delta 1e-05 --n 60 --epochs 1 --seeds 3" in text
    )


def test_several_comparisons_are_on_one_page_and_the_same_command_replaces_its_own(
    tmp_path: Path,
) -> None:
    for epsilon in (2.0, 5.0, 2.0):
        assert run_compare(**{**SMALL, "epsilon": epsilon}, report=tmp_path) == 0
    held = msgspec.json.decode(
        (tmp_path / "data" / "comparison.json").read_bytes(), type=Comparisons
    )
    assert [one.result.epsilon for one in held.comparisons] == [2.0, 5.0]
    text = (tmp_path / "comparison.md").read_text(encoding="utf-8")
    assert "## breast_cancer, epsilon = 2\n" in text
    assert "## breast_cancer, epsilon = 5\n" in text
    assert text.index("epsilon = 2") < text.index("epsilon = 5")
    assert COMPARISON_PAGE.check(tmp_path) == []


def test_what_is_edited_or_left_over_is_found_and_repaired(tmp_path: Path) -> None:
    run_compare(**SMALL, report=tmp_path)
    (tmp_path / "comparison.md").write_text(f"{GENERATED}\nedited")
    (tmp_path / "figures" / "comparison-old.svg").write_text(FIGURE_MARK)
    (tmp_path / "figures" / "other.svg").write_text("<svg/>")
    assert COMPARISON_PAGE.check(tmp_path) == [
        "comparison.md",
        "figures/comparison-old.svg",
    ]
    COMPARISON_PAGE.regenerate(tmp_path)
    assert COMPARISON_PAGE.check(tmp_path) == []
    assert (tmp_path / "figures" / "other.svg").exists()
    (tmp_path / "data" / "comparison.json").unlink()
    assert "comparison.md" in COMPARISON_PAGE.check(tmp_path)


def test_the_first_page_of_a_report_names_it(tmp_path: Path) -> None:
    write_report([sample_run()], tmp_path)
    before = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "comparison.md" not in before
    assert run_compare(**SMALL, report=tmp_path) == 0
    after = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "[optimizers compared at equal privacy](comparison.md)" in after
    assert regenerate_report(tmp_path) == []
    assert (tmp_path / "comparison.md").is_file(), (
        "a report's own writer leaves it alone"
    )


def test_an_interrupted_comparison_does_not_take_the_place_of_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    assert run_compare(**SMALL, report=tmp_path) == 0
    before = (tmp_path / "comparison.md").read_bytes()

    def stopped(request: CompareRequest, report: Any, backend: Any) -> CompareResult:
        return msgspec.structs.replace(
            compare(request, report, backend), interrupted=True
        )

    monkeypatch.setattr(compare_command, "compare", stopped)
    capsys.readouterr()
    assert run_compare(**SMALL, report=tmp_path) == 130
    assert "is as it was" in capsys.readouterr().out
    assert (tmp_path / "comparison.md").read_bytes() == before


def test_data_come_back_as_they_were(one: RecordedComparison) -> None:
    comparisons = Comparisons(comparisons=[one])
    again = msgspec.json.decode(encode(comparisons), type=Comparisons)
    assert again == comparisons
    assert page(again) == page(comparisons)


def test_every_difference_has_its_interval(one: RecordedComparison) -> None:
    text = page(Comparisons(comparisons=[one]))
    assert (
        len(
            [
                lines
                for lines in raw_tables(text)
                if len({line.count("|") for line in lines}) == 1
            ]
        )
        == 4
    )
    seen = text.split("## What is seen")[1].split("\n## ", maxsplit=1)[0]
    sentences = re.findall(
        r"(?:\*\*(?:higher|lower)\*\* by|no difference seen \()[^;.]*\.\d+ \[[^\]]*\]",
        seen,
    )
    told = len(re.findall(r"\*\*higher\*\*|\*\*lower\*\*|no difference seen \(", seen))
    assert told == len(sentences) == len(QUESTIONS) * len(MEASURES)


def test_all_intervals_hold_together_as_often_as_they_say() -> None:
    level, rng = corrected_level(40), np.random.default_rng(0)
    assert level == pytest.approx(1 - 0.05 / 40)
    hold = [
        all(
            found.low is not None
            and found.high is not None
            and found.low <= 0 <= found.high
            for found in (
                interval(list(sample), level)
                for sample in rng.standard_normal((40, 20))
            )
        )
        for _ in range(500)
    ]
    assert np.mean(hold) > 0.95 - 5 * np.sqrt(0.05 * 0.95 / 500)


def test_what_differs_is_seen_with_its_sign_and_what_does_not_is_not(
    result: CompareResult,
) -> None:
    level = corrected_level(family([result]))
    found = differences(moved(result, "dp-gd", 50.0), level)
    assert set(found) == {(a, b, measure) for a, b in PAIRS for measure in MEASURES}
    assert len(PAIRS) == len(METHODS) * (len(METHODS) - 1) // 2
    assert {found["dp-gd", "nsgd", measure].seen for measure in MEASURES} == {"higher"}
    assert {found["dp-sgd", "dp-gd", measure].seen for measure in MEASURES} == {"lower"}
    same = msgspec.structs.replace(result.methods[0], name="dp-nsgd")
    twins = msgspec.structs.replace(
        result, methods=[result.methods[0], same, *result.methods[2:]]
    )
    assert {differences(twins, level)["dp-nsgd", "nsgd", m].seen for m in MEASURES} == {
        "no difference seen"
    }


def test_a_difference_that_is_seen_is_told_by_its_size(
    one: RecordedComparison, result: CompareResult
) -> None:
    apart = msgspec.structs.replace(one, result=moved(result, "dp-gd", -50.0))
    text = page(Comparisons(comparisons=[apart]))
    told = re.search(
        r"`dp-gd` against `dp-nsgd`: gradient norm at the last iterate \*\*lower\*\* by (\S+)",
        text,
    )
    assert told is not None
    assert float(told[1]) == pytest.approx(50, abs=1)


def test_figures_of_comparisons_have_names_of_their_own(
    one: RecordedComparison,
) -> None:
    other = msgspec.structs.replace(one, command="dpverify compare --eta 1")
    both = merged(Comparisons(comparisons=[one]), other)
    assert figure_names(both) == [
        "comparison-breast-cancer-epsilon-2.svg",
        "comparison-breast-cancer-epsilon-2-run-2.svg",
    ]


def test_the_command_is_one_that_can_be_run(tmp_path: Path) -> None:
    request = CompareRequest(
        **SMALL,
        data=tmp_path / "my data.svm",
        standardise=False,
        test_part=0.25,
        eta=0.123456789,
    )
    line = request.command
    assert "--data 'my data.svm'" in line
    assert "--no-standardise" in line
    assert "--test-part 0.25" in line
    assert "--eta 0.123456789" in line
    assert str(tmp_path) not in line


def test_a_users_libsvm_file_is_named_with_its_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((80, 5)), np.repeat([-1, 1], 40)
    dump_svmlight_file(x + y[:, None], y, str(tmp_path / "mine.svm"))
    monkeypatch.chdir(tmp_path)
    words = "compare --data mine.svm --epsilon 2 --delta 1e-5 --epochs 1 --seeds 2 --no-figure --report out"
    assert main(words.split()) == 0
    text = (tmp_path / "out" / "comparison.md").read_text(encoding="utf-8")
    assert "file mine.svm, SHA-256 " in text
    assert "--data mine.svm" in text
    assert "epsilon = 2, delta = 1e-05, for replacing one example" in text
    assert (
        tmp_path / "out" / "figures" / "comparison-mine-svm-epsilon-2.svg"
    ).is_file()


BAD_FILES: list[tuple[str, str]] = [
    ("1 1:nan\n-1 1:2\n", "finite"),
    ("", "empty"),
    (
        "1 1:1\n1 1:2\n",
        "labels must be 2 to 1000 classes, of two examples or more on the average, found 1",
    ),
    (
        "1 1:1\n2 1:2\n3 1:3\n",
        "labels must be 2 to 1000 classes, of two examples or more on the average, found 3",
    ),
    ("this is no data\n", "line 1"),
]


@for_each(("content", "rule"), BAD_FILES)
def test_a_bad_file_is_one_line_and_nothing_is_recorded(
    content: str, rule: str, tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "bad.svm"
    file.write_text(content)
    assert run_compare(data=file, epsilon=1.0, delta=1e-5, report=tmp_path / "out") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "bad.svm" in err
    assert rule in err
    assert not (tmp_path / "out" / "comparison.md").exists()


def test_a_folder_that_cannot_take_the_report_is_refused_before_the_run(
    tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "comparison.json").write_text("{")
    for folder, rule in (
        (tmp_path / "file", "cannot be made a folder"),
        (tmp_path, "data/comparison.json: "),
    ):
        assert run_compare(**SMALL, report=folder) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert rule in err


def test_the_recorded_comparisons_are_what_the_code_gives_today(tmp_path: Path) -> None:
    held = COMPARISON_PAGE.read(ROOT / "reports")
    assert held is not None
    x, y = load_digits(return_X_y=True)
    file = tmp_path / "digits-parity.svm"  # as README.md writes it
    dump_svmlight_file(x, y % 2, str(file))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    for one in held.comparisons:
        old, mine = one.result, one.result.data.name == file.name
        assert one.source == (
            f"file {file.name}, SHA-256 {digest}" if mine else "comes with scikit-learn"
        )
        new = compare(
            CompareRequest(old.epsilon, old.delta, data=file if mine else None, seeds=2)
        )
        for recorded_method, method in zip(old.methods, new.methods, strict=True):
            for was, now in zip(
                recorded_method.outcomes, method.outcomes, strict=False
            ):
                assert msgspec.structs.asdict(now) == pytest.approx(
                    msgspec.structs.asdict(was), rel=1e-4
                ), method.name


def test_a_page_that_somebody_wrote_by_hand_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "comparison.md").write_text("# Mine\n")
    assert COMPARISON_PAGE.check(tmp_path) == COMPARISON_PAGE.regenerate(tmp_path) == []
    assert (tmp_path / "comparison.md").read_text() == "# Mine\n"
