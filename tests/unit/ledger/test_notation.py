from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dpverify.ledger import load_specs, notation_markdown

Write = Callable[..., Path]


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:1] == "|"]


def test_one_row_per_api_name_then_the_nameless(write: Write) -> None:
    write()
    edits = (
        ('key = "toy2024"', 'key = "other"'),
        ("toy2024:proposition-1", "proposition-1"),
        ('latex = "N"', 'latex = "|D|"'),
        ('meaning = "examples"', 'meaning = "examples | rows\\nof data"'),
        ("integer, N >= 1", "integer, N >= 2"),
    )
    text = notation_markdown(load_specs(write(*edits, key="other")))
    head, _, *body = rows(text)
    assert head == ["API name", "other", "toy2024", "meaning", "domain"]
    assert [row[0] for row in body] == ["`alpha`", "`lipschitz`", "`n_examples`", "`steps`", "", "", "", ""]
    assert body[2] == [
        "`n_examples`",
        r"$\vert D\vert$ `N`",
        "$N$ `N`",
        r"examples \| rows of data; examples",
        "`integer, N >= 2`; `integer, N >= 1`",
    ]
    assert body[4] == ["", "$V$ `V`", "", "nodes that an example reaches", "`real, V >= 0`"]
    assert "- **toy2024**: A toy paper (Nowhere 2024)" in text
    assert text.endswith("|\n")


def test_two_letters_for_one_name_share_a_cell(write: Write) -> None:
    edit = ('meaning = "twice that"', 'meaning = "twice that"\napi = "steps"')
    body = rows(notation_markdown(load_specs(write(edit))))
    assert ["`steps`", "$T$ `T`; $W$ `W`", "steps; twice that", "`integer, T >= N`; `real`"] in body


def test_deterministic(write: Write) -> None:
    folder = write()
    assert notation_markdown(load_specs(folder)) == notation_markdown(load_specs(folder))
