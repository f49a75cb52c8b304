"""Explanations and figures of claims, from the recorded run."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import matplotlib as mpl
import pytest
from rich.console import Console

import dpverify as dv
from dpverify.report.explain import Explained, print_explained


def test_it_is_what_the_command_prints() -> None:
    loaded = dv.load_specs()
    found = dv.explain("lemma-12", specs=loaded)
    file = io.StringIO()
    print_explained(found.explained, Console(file=file, width=70, color_system=None))
    printed = [line.rstrip() for line in file.getvalue().splitlines()]
    assert found.text(70).split() == " ".join(printed).split()
    assert found.explained.results == dv.recorded("tran2022").filter(claim="lemma-12")
    assert str(found) == found.text()
    assert "\x1b" not in str(found)


def test_full_shows_what_the_command_shows_with_full() -> None:
    loaded = dv.load_specs()
    found = dv.explain("lemma-12", full=True, specs=loaded)
    file = io.StringIO()
    print_explained(
        found.explained, Console(file=file, width=70, color_system=None), full=True
    )
    assert found.text(70).split() == file.getvalue().split()
    assert "Symbols" in str(found)
    assert "Symbols" not in str(dv.explain("lemma-12", specs=loaded))


def test_its_repr_is_short_and_its_html_is_escaped() -> None:
    found = dv.explain("tran2022:lemma-12")
    assert repr(found) == "<Explanation of tran2022:lemma-12: print it to read it>"
    html = found._repr_html_()
    assert html.startswith("<pre")
    assert "&lt;=" in html or "≤" in html
    assert "<=" not in html


def test_it_writes_nothing_by_itself_in_a_notebook(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr(
        "rich.jupyter.display", lambda *_: sys.stdout.write("shown by rich")
    )
    dv.explain("tran2022:lemma-12")._repr_html_()
    assert capsys.readouterr() == ("", "")


def test_without_a_recorded_run_the_verdict_is_explained(tmp_path: Path) -> None:
    found = dv.explain("tran2022:lemma-12", report=tmp_path)
    assert not found.explained.results
    assert "refuted" in str(found)


def test_a_pattern_of_several_claims_is_an_error() -> None:
    with pytest.raises(ValueError, match="claim must name one claim"):
        dv.explain("lemma-1*")
    with pytest.raises(dv.UnknownClaim, match="unknown claim"):
        dv.explain("lemma-99")


def test_a_figure_is_drawn_with_its_caption_and_leaves_the_settings_alone() -> None:
    before = dict(mpl.rcParams)
    drawn = dv.figure("tran2022:lemma-12")
    assert drawn.axes
    assert "Variance of the noise" in str(drawn.get_label())
    assert drawn.__dict__["_repr_svg_"]().startswith("<?xml")
    assert dict(mpl.rcParams) == before


def test_a_figure_is_chosen_by_name_and_reading() -> None:
    with pytest.raises(ValueError, match=r"name must be one of .*noise-variance"):
        dv.figure("tran2022:lemma-12", "no-such-figure")
    with pytest.raises(dv.SpecError, match="offers levels, height"):
        dv.figure("tran2022:lemma-12", depth="deep")
    with pytest.raises(ValueError, match="no figure of tran2022:theorem-4-root"):
        dv.figure("tran2022:theorem-4-root")
    assert dv.figure("tran2022:lemma-12", depth="levels").axes


def test_explained_takes_the_results_of_one_claim() -> None:
    found = dv.explain("tran2022:theorem-4-dp").explained
    assert isinstance(found, Explained)
    assert {result.claim for result in found.results} == {"tran2022:theorem-4-dp"}
