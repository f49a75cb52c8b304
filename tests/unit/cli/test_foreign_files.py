"""Every command that writes files refuses, in one line and before it works, to overwrite files of somebody else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpverify.cli import main
from dpverify.report.words import FIGURE_MARK
from tests.for_each import for_each

Capture = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[3]
MINE = b"mine\n"


def state(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


REPORTS = {
    "verify": (
        ["verify", "--specs", "TOY", "--jobs", "1"],
        ["README.md", "toy.md", "figures/overview.svg"],
    ),
    "selftest": (
        ["selftest", "--root", str(ROOT), "--tenth", "0"],
        ["selftest.md", "data/selftest.json"],
    ),
    "search": (
        ["selftest", "--root", str(ROOT), "--search"],
        ["search.md", "data/search.json"],
    ),
    "rates": (
        ["selftest", "--root", str(ROOT), "--rates", "1"],
        ["rates.md", "data/rates.json"],
    ),
    "modules": (
        ["selftest", "--root", str(ROOT), "--modules"],
        ["mutants.md", "data/mutants.json"],
    ),
    "bench": (
        ["bench", "noise"],
        ["benchmarks.md", "data/benchmarks.json", "figures/bench-noise.svg"],
    ),
    "compare": (
        ["compare", "--epsilon", "1", "--delta", "1e-5", "--no-figure"],
        ["comparison.md"],
    ),
    "experiment": (
        ["compare", "--experiment", "wang2019:table-2", "--no-figure"],
        ["experiments.md"],
    ),
}
CASES = [(words, name) for words, names in REPORTS.values() for name in names]


@for_each(("words", "name"), CASES, ids=[f"{words[0]}-{name}" for words, name in CASES])
def test_a_report_is_not_written_over_files_of_somebody_else(
    words: list[str],
    name: str,
    toy: Path,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = tmp_path / "work"
    folder = work / "report"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_bytes(MINE)
    monkeypatch.chdir(work)
    before = state(work)
    given = [str(toy) if word == "TOY" else word for word in words]
    assert main([*given, "--report", str(folder)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert name in err
    assert "was not written by dpverify" in err or "cannot be read" in err
    assert state(work) == before


def test_a_report_with_an_unfinished_update_of_somebody_else_is_refused(
    toy: Path, tmp_path: Path, capsys: Capture
) -> None:
    folder = tmp_path / "report"
    victim = tmp_path / "victim.md"
    victim.write_bytes(MINE)
    (folder / "UNFINISHED").mkdir(parents=True)
    (folder / "UNFINISHED" / "names").write_text(
        json.dumps([str(victim), "../victim.md"])
    )
    (folder / "UNFINISHED" / "0").write_bytes(b"theirs")
    explain = ["explain", "toy:lemma-1", "--specs", str(toy), "--report", str(folder)]
    verify = ["verify", "--specs", str(toy), "--jobs", "1", "--report", str(folder)]
    for words in (explain, verify):
        assert main(words) == 2
        assert (
            "UNFINISHED: exists, and was not written by this version"
            in capsys.readouterr().err
        )
    assert victim.read_bytes() == MINE


def test_the_json_is_written_though_the_report_meets_a_foreign_page_after_the_run(
    toy: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpverify.cli.verify._check_pages", lambda *_: None)
    folder = tmp_path / "report"
    folder.mkdir()
    (folder / "README.md").write_bytes(MINE)
    target = tmp_path / "run.json"
    words = [
        "verify",
        "--specs",
        str(toy),
        "--jobs",
        "1",
        "--report",
        str(folder),
        "--json",
        str(target),
    ]
    assert main(words) == 2
    assert (
        "README.md: exists, and was not written by dpverify" in capsys.readouterr().err
    )
    assert json.loads(target.read_bytes())["schema"] == 1
    assert state(folder) == {"README.md": MINE}


@for_each(
    ("words", "name"),
    [
        (
            ["train", "--algorithm", "dp-nsgd", "--sigma", "1", "--steps", "2"],
            "dp-nsgd.svg",
        ),
        (
            ["train", "--algorithm", "dp-srm", "--sigma", "1", "--steps", "2"],
            "dp-srm.svg",
        ),
        (["compare", "--epsilon", "1", "--delta", "1e-5"], "compare.svg"),
    ],
)
def test_a_figure_that_nobody_named_does_not_replace_a_file_of_somebody_else(
    words: list[str],
    name: str,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(b"<svg/>\n")
    assert main(words) == 2
    assert (
        f"--figure {name}: exists and is not a figure of dpverify"
        in capsys.readouterr().err
    )
    assert state(tmp_path) == {name: b"<svg/>\n"}


def test_a_figure_of_ours_is_replaced_and_a_named_one_too(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    train = ["train", "--sigma", "1", "--steps", "2", "--points", "2"]
    for _ in range(2):
        assert main(train) == 0
    (tmp_path / "named.svg").write_bytes(MINE)
    assert main([*train, "--figure", "named.svg"]) == 0
    for name in ("dp-nsgd.svg", "named.svg"):
        assert (tmp_path / name).read_text().endswith(f"</svg>\n{FIGURE_MARK}\n")


@for_each(
    ("name", "content"),
    [
        ("package.json", b'{"name": "left-pad"}'),
        ("tran2022-lemma-12-count-amended.json", b"{}"),
        ("evidence.txt", b"found at the scene\n"),
    ],
)
def test_certificates_are_not_written_beside_files_of_somebody_else(
    name: str, content: bytes, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / name).write_bytes(content)
    assert main(["certify", "tran2022:lemma-12-count", "--out", str(tmp_path)]) == 2
    assert (
        f"holds {name}, which is not a certificate of dpverify"
        in capsys.readouterr().err
    )
    assert state(tmp_path) == {name: content}


def test_certificates_are_not_written_through_a_link(
    tmp_path: Path, capsys: Capture
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    victim = tmp_path / "victim.json"
    victim.write_bytes(MINE)
    (out / "tran2022-lemma-12-count-amended.json").symlink_to(victim)
    assert main(["certify", "tran2022:lemma-12-count", "--out", str(out)]) == 2
    assert "which is not a certificate of dpverify" in capsys.readouterr().err
    assert victim.read_bytes() == MINE


def test_a_new_paper_leaves_links_alone_and_nothing_half_written(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "pyproject.toml").symlink_to(tmp_path / "outside.toml")
    assert main(["new-paper", "mine2026", str(folder)]) is not None
    assert "is left alone" in capsys.readouterr().err
    assert not (tmp_path / "outside.toml").exists()
    (folder / "theirs2026").symlink_to(tmp_path / "nowhere")
    assert main(["new-paper", "theirs2026", str(folder)]) == 2

    def fails(*_: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", fails)
    assert main(["new-paper", "other2026", str(folder)]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert not (folder / "other2026").exists()
