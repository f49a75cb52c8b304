from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dpverify.ledger import check_specs
from tests.for_each import for_each

Write = Callable[..., Path]


def test_nothing_to_say_about_a_sound_folder(write: Write) -> None:
    assert check_specs(write()) == []


def test_every_error_of_every_file_is_reported(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(('where = "Lemma 2"', "where = 2"), ('api = "steps"', "api = 3"))
    folder = write(
        ('key = "toy2024"', 'key = "other"'),
        ('"alpha >= 1/N"', '"alhpa >= 1/N", "alpha >"'),
        ('"toy2024:proposition-1"', '"toy2024:anything"'),
        ('lhs = "sum', 'lhs = "sun'),
        verdict_edits=(
            ('formula = "8*', 'formula = "8'),
            ('status = "proved"', 'status = "so"'),
        ),
        key="other",
    )
    monkeypatch.chdir(folder)
    findings = check_specs(".")
    assert {finding.level for finding in findings} == {"error"}
    assert [str(finding).split(": ")[1:4] for finding in findings] == [
        ["other/verdicts.toml", "proposition-1", "status"],
        ["other/claims.toml", "proposition-1", "lhs"],
        ["other/claims.toml", "lemma-2", "requires[0]"],
        ["other/claims.toml", "lemma-2", "requires[1]"],
        ["toy2024/claims.toml", "symbols.T.api", "3"],
        ["toy2024/claims.toml", "lemma-2", "where"],
    ]


def test_one_fault_of_a_domain_is_reported_once(write: Write) -> None:
    findings = check_specs(write(('"integer, N >= 1"', '"integr, N >= 1"')))
    assert len(findings) == 1
    assert "symbols.N.domain" in str(findings[0])


@for_each(
    ("edits", "verdict_edits", "text"),
    [
        ([('printed = "4*alpha*G*sqrt(W*', 'printed = "4*alpha*G*sqrt(')], [], ""),
        (
            [('{symbol = "W", value = "2*V"}, ', ""), ("sqrt(W*", "sqrt(V*")],
            [],
            "symbols.W: no claim uses this symbol",
        ),
        (
            [('quote = "Let V = ..."', 'quote = " "')],
            [],
            "lemma-2: quote: the claim has no quote",
        ),
        (
            [],
            [
                (
                    'claim = "proposition-1"',
                    'claim = "lemma-2"\nreading = {ordering = "fresh"}',
                )
            ],
            "no verdict",
        ),
        (
            [],
            [('reason = "needs the kernel"', "")],
            "algorithm-1-range: reason: an untested claim says why",
        ),
    ],
)
def test_warnings(
    write: Write,
    edits: list[tuple[str, str]],
    verdict_edits: list[tuple[str, str]],
    text: str,
) -> None:
    findings = check_specs(write(*edits, verdict_edits=tuple(verdict_edits)))
    assert [finding.level for finding in findings] == (["warning"] if text else [])
    assert all(text in str(finding) for finding in findings)


def test_a_file_that_nothing_reads(write: Write) -> None:
    folder = write()
    (folder / "toy2024" / "verdict.toml").touch()
    (folder / "toy2024" / "README.md").touch()
    findings = check_specs(folder)
    assert len(findings) == 1
    assert str(findings[0]).endswith("verdict.toml: nothing reads this file")


def test_a_paper_without_verdicts_is_one_warning(write: Write) -> None:
    folder = write()
    (folder / "toy2024" / "verdicts.toml").unlink()
    (finding,) = check_specs(folder)
    assert finding.level == "warning"
    assert "no claim of this paper has a verdict yet" in finding.text


def test_symbols_of_an_amendment_and_of_a_tag_are_used(write: Write) -> None:
    symbol = '\n[symbols.%s]\nlatex = "x"\ndomain = "real"\nmeaning = "m"\n'
    edit = ('assumes = ["', 'assumes = ["smooth(L)", "')
    folder = write(
        edit,
        extra=symbol % "L" + symbol % "M",
        verdict_edits=(('"8*alpha*G*', '"8*alpha*G*M*'),),
    )
    assert check_specs(folder) == []


def test_a_folder_that_cannot_be_read(tmp_path: Path) -> None:
    (finding,) = check_specs(tmp_path / "nowhere")
    assert finding.level == "error"


def test_a_hundred_errors_are_enough(write: Write) -> None:
    claim = '\n[[claim]]\nid = "remark-%d"\nwhere = 1\nsource = "full"\nquote = "q"\nkind = "count"\n'
    findings = check_specs(write(extra="".join(claim % i for i in range(300))))
    assert len(findings) == 100
    assert str(findings[-1]).endswith("100 are shown, there may be more")
