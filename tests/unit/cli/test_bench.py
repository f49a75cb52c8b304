from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from pathlib import Path

import msgspec
import pytest

from dpverify.bench import case as cases
from dpverify.bench import run as running
from dpverify.bench.case import BenchCase, Group, Target
from dpverify.bench.measure import FormTimes, Measured
from dpverify.bench.report.page import check_bench
from dpverify.bench.results import Bench
from dpverify.cli import main
from dpverify.ledger.records import encode
from tests.for_each import for_each
from tests.unit.bench.runs import bench, case, record

Capture = pytest.CaptureFixture[str]


def decode(data: bytes) -> Bench:
    return msgspec.json.decode(data, type=Bench)


class Clock:
    """Stands for the processes that measure: ``ours`` takes ``factor`` times the limit, a little more each pass."""

    factor = 1.0
    broken: tuple[str, ...] = ()
    stop_in_pass = 99

    def __call__(
        self, cases: Sequence[BenchCase], *, seed: int, rounds: int, pass_number: int
    ) -> Generator[Measured, None, None]:
        if pass_number == self.stop_in_pass:
            raise KeyboardInterrupt
        for each in cases:
            yield (
                Measured(error="ValueError: no")
                if each.name in self.broken
                else self._found(pass_number)
            )

    def _found(self, pass_number: int) -> Measured:
        ours = self.factor * (1 + 0.001 * ((7 * pass_number) % 9))
        return Measured(
            {"limit": FormTimes([1e-3] * 2), "ours": FormTimes([ours * 1e-3] * 2)}
        )


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    sums = case("sum", targets=[Target("ours", at_most=1.2)])
    groups = {name: Group(name, f"All {name}", ()) for name in cases.GROUPS}
    groups |= {
        "noise": Group(
            "noise", "All noise", (sums, case("product", parameters={"T": 8}))
        ),
        "audit": Group("audit", "All audit", (case("whole", long=True), case("bound"))),
    }
    monkeypatch.setattr(cases, "load", groups.__getitem__)
    monkeypatch.setattr(running, "measure_afresh", made)
    return made


def complaint(capsys: Capture) -> str:
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


@pytest.mark.usefixtures("clock")
def test_ratios_and_targets_are_printed(capsys: Capture) -> None:
    assert main(["bench", "noise"]) == 0
    out = capsys.readouterr().out
    assert re.search(
        r"noise: sum\s+ours\s+1.00 ms\s+1.00 \(1.00 to 1.01\)\s+at most 1.2: met", out
    )
    assert re.search(r"noise: product\s+limit\s+1.00 ms\s+the limit", out)
    assert "1 target: 1 met." in out
    assert "audit" not in out


@pytest.mark.usefixtures("clock")
def test_cases_are_listed(capsys: Capture) -> None:
    assert main(["bench", "--list"]) == 0
    out = capsys.readouterr().out
    assert "noise: All noise\n  sum: The sum\n  product: The product (T = 8)\n" in out
    assert "  whole: The whole; long\n" in out


def test_long_cases_only_when_asked_for(clock: Clock, capsys: Capture) -> None:
    del clock
    for words, there in (
        (["bench"], False),
        (["bench", "--long"], True),
        (["bench", "audit"], True),
    ):
        assert main(words) == 0
        assert ("whole" in capsys.readouterr().out) == there


@pytest.mark.usefixtures("clock")
def test_json_on_stdout_is_nothing_but_json(capsys: Capture) -> None:
    assert main(["bench", "noise", "--quick", "--seed", "5", "--json", "-"]) == 0
    out, err = capsys.readouterr()
    found = decode(out.encode())
    assert found.runs[0].seed == 5
    assert found.runs[0].quick
    assert [len(form.samples) for each in found.cases for form in each.forms] == [
        3,
        3,
        3,
        3,
    ]
    assert "noise: sum" in err


def test_what_became_slower_gives_1(
    clock: Clock, tmp_path: Path, capsys: Capture
) -> None:
    before = tmp_path / "before.json"
    assert main(["bench", "noise", "--json", str(before)]) == 0
    assert main(["bench", "noise", "--against", str(before)]) == 0
    out = capsys.readouterr().out
    assert "2 forms compared: 2 no difference seen." in out
    assert re.search(r"no difference seen\s+\+0.0% \(−0\.\d% to \+0\.\d%\)", out)
    clock.factor = 1.1
    assert main(["bench", "noise", "--against", str(before)]) == 1
    out = capsys.readouterr().out
    assert re.search(
        r"noise/sum\s+ours / limit\s+slower\s+\+10.0% \(\+9\.\d% to \+10\.\d%\)", out
    )
    assert "2 forms compared: 2 slower." in out
    clock.factor = 0.9
    assert main(["bench", "noise", "--against", str(before)]) == 0
    assert "2 faster" in capsys.readouterr().out


@pytest.mark.usefixtures("clock")
def test_what_cannot_be_compared_is_counted(tmp_path: Path, capsys: Capture) -> None:
    before = tmp_path / "before.json"
    assert main(["bench", "noise", "--quick", "--json", str(before)]) == 0
    capsys.readouterr()
    assert main(["bench", "noise", "--quick", "--against", str(before)]) == 0
    out = capsys.readouterr().out
    assert "0 forms compared." in out
    assert "2 forms not watched: too few passes" in out
    assert main(["bench", "--against", str(before)]) == 0
    out, err = capsys.readouterr()
    assert (
        "1 form not compared: the other run has no form with this name, size and limit"
        in err
    )


@pytest.mark.usefixtures("clock")
def test_other_seeds_and_versions_are_told_of(tmp_path: Path, capsys: Capture) -> None:
    before = tmp_path / "before.json"
    assert main(["bench", "noise", "--seed", "1", "--json", str(before)]) == 0
    assert main(["bench", "noise", "--seed", "1", "--against", str(before)]) == 0
    err = capsys.readouterr().err
    assert "other seeds" not in err
    assert "other versions" not in err
    before.write_bytes(before.read_bytes().replace(b'"python": "', b'"python": "2.'))
    assert main(["bench", "noise", "--against", str(before)]) == 0
    err = capsys.readouterr().err
    assert (
        "the two runs have different seeds, so different input may cause a change"
        in err
    )
    assert "the two runs were made with other versions of the packages" in err


def test_a_case_that_fails_gives_1_and_costs_no_other(
    clock: Clock, capsys: Capture
) -> None:
    clock.broken = ("sum",)
    assert main(["bench", "noise"]) == 1
    out, err = capsys.readouterr()
    assert "product" in out
    assert err == "dpverify: noise/sum could not be measured: ValueError: no\n"


def test_an_interrupted_run_writes_what_it_has(
    clock: Clock, tmp_path: Path, capsys: Capture
) -> None:
    clock.stop_in_pass = 2
    file, folder = tmp_path / "run.json", tmp_path / "out"
    assert main(["bench", "noise", "--json", str(file), "--report", str(folder)]) == 130
    found = decode(file.read_bytes())
    assert found.runs[0].interrupted
    assert [len(form.samples) for form in found.cases[0].forms] == [2, 2]
    assert "was interrupted" in (folder / "benchmarks.md").read_text()
    out = capsys.readouterr().out
    assert "noise: sum" in out
    assert "The run was interrupted, so some of its passes are missing." in out


def test_groups_that_were_not_measured_stay_in_the_report(
    clock: Clock, tmp_path: Path
) -> None:
    assert main(["bench", "audit", "--report", str(tmp_path)]) == 0
    clock.factor = 1.5
    assert main(["bench", "noise", "--quick", "--report", str(tmp_path)]) == 0
    page = (tmp_path / "benchmarks.md").read_text()
    assert "## All noise" in page
    assert "## All audit" in page
    assert check_bench(tmp_path) == []


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@for_each(
    ("content", "said"),
    [
        (b"{", "no JSON"),
        (b"[]", "is no run of dpverify bench"),
        (b'{"schema": 1, "run": {}, "results": []}', "is no run of dpverify bench"),
        (
            encode(bench(record(case(), []))).replace(b'"schema": 2', b'"schema": 1'),
            "this version reads schema 2",
        ),
        (encode(bench(record(case(), []))).replace(b'"groups"', b'"gruops"'), "gruops"),
        (b"\xff", "no JSON"),
    ],
)
def test_a_file_that_is_no_run_is_refused(
    content: bytes, said: str, tmp_path: Path, capsys: Capture
) -> None:
    file = write(tmp_path / "old.json", content)
    assert main(["bench", "--against", str(file)]) == 2
    line = complaint(capsys)
    assert line.startswith(f"dpverify: --against {file}: ")
    assert said in line


def test_bad_words_are_refused(tmp_path: Path, capsys: Capture) -> None:
    for words, said in (
        (["nois"], "GROUP nois: is not a group; near: noise"),
        (["--seed", "-1"], "--seed -1: must be at least 0"),
        (
            ["--against", str(tmp_path / "absent")],
            "cannot be read (no such file or directory)",
        ),
        (["--against", str(tmp_path)], "cannot be read (is a directory)"),
        (["--json", str(tmp_path / "no" / "file")], "no such file or directory"),
        (["--report", "/dev/null/out"], "--report"),
    ):
        assert main(["bench", *words]) == 2
        assert said in complaint(capsys)


def test_a_report_that_cannot_be_read_is_refused_before_the_run(
    tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "data").mkdir()
    write(tmp_path / "data" / "benchmarks.json", b"{}")
    assert main(["bench", "--report", str(tmp_path)]) == 2
    assert "data/benchmarks.json: is no run" in complaint(capsys)
