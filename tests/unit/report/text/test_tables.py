from __future__ import annotations

import io

from rich.console import Console
from rich.text import Text

from dpverify.ledger import load_specs
from dpverify.ledger.claims import list_claims
from dpverify.report.text.console import MAX_WORD, Cell, name_cell, table
from dpverify.report.words import claim_with_reading
from tests.for_each import for_each

WORDS = "Every privacy certificate holds unless two queries share an example; certified by derivation"
ROWS = [
    ("lemma-12", "refuted (privacy)", "", WORDS),
    ("theorem-4-sensitivity", "proved", "", "in short"),
]


def shown(
    rows: list[tuple[Cell, ...]],
    columns: tuple[str, ...],
    width: int,
    encoding: str = "utf-8",
) -> str:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    console = Console(
        file=out,
        width=width,
        force_terminal=True,
        color_system=None,
        legacy_windows=False,
    )
    console.print(table(columns, rows, console))
    return raw.getvalue().decode(encoding)


@for_each("width", [70, 80, 120, 200])
def test_no_word_is_broken_and_no_line_too_wide(width: int) -> None:
    text = shown([*ROWS], ("claim", "verdict", "empty", "why"), width)
    assert max(map(len, text.splitlines())) <= width
    assert {*WORDS.split(), "refuted", "(privacy)", "theorem-4-sensitivity"} <= {
        *text.split()
    }
    assert "empty" not in text


@for_each("width", [80, 120])
def test_no_word_of_the_list_of_all_claims_is_broken(width: int) -> None:
    entries = list_claims(list(load_specs().claims()))
    rows = [
        (
            name_cell(claim_with_reading(entry.claim, entry.reading)),
            entry.record.kind,
            entry.record.where,
        )
        for entry in entries
    ]
    text = shown([*rows], ("claim", "kind", "place in the paper"), width)
    assert max(map(len, text.splitlines())) <= width
    parts = {*text.split()}
    assert {
        word for row in rows for word in " ".join(row).split() if len(word) <= MAX_WORD
    } <= parts


def test_names_are_broken_after_hyphens_only_and_readings_have_lines_of_their_own() -> (
    None
):
    assert name_cell("tran2022:lemma-12[depth=levels,ordering=fresh]") == (
        "tran2022:lemma-12\n  depth=levels\n  ordering=fresh"
    )
    assert name_cell("zhang2021:section-4-2-momentum-cifar-training").replace(
        "\n  ", ""
    ) == ("zhang2021:section-4-2-momentum-cifar-training")


def test_ascii_terminals_and_very_narrow_ones_are_served() -> None:
    text = shown(
        [("α ≤ 1", Text("✗ refuted", style="red"))],
        ("claim", "verdict"),
        40,
        encoding="ascii",
    )
    assert "alpha <= 1" in text
    assert "x refuted" in text
    assert (
        max(
            map(
                len,
                shown([*ROWS], ("claim", "verdict", "empty", "why"), 20).splitlines(),
            )
        )
        <= 20
    )
