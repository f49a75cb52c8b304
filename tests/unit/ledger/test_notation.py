from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dpverify.ledger import bundled_specs, load_specs, notation_markdown, write_notation

Write = Callable[..., Path]


def rows(text: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in text.splitlines()
        if line[:1] == "|"
    ]


def test_one_row_per_api_name_then_the_nameless(write: Write) -> None:
    write()
    edits = (
        ('key = "toy2024"', 'key = "other"'),
        ("toy2024:proposition-1", "proposition-1"),
        ('latex = "N"', 'latex = "|D|"'),
        ('latex = "G"', r"latex = '\|g\|'"),
        ('meaning = "examples"', 'meaning = "examples | 2**n rows\\nof data"'),
        ("integer, N >= 1", "integer, N >= 2"),
    )
    text = notation_markdown(load_specs(write(*edits, key="other")))
    head, _, *body = rows(text)
    assert head == ["API name", "other", "toy2024", "meaning", "domain"]
    assert [row[0] for row in body] == [
        "`alpha`",
        "`lipschitz`",
        "`n_examples`",
        "`steps`",
        "",
        "",
        "",
        "",
    ]
    assert body[1][1] == r"$\Vert g\Vert$ `G`"
    assert body[2] == [
        "`n_examples`",
        r"$\vert D\vert$ `N`",
        "$N$ `N`",
        r"examples \| 2\*\*n rows of data; examples",
        "`integer, N >= 2`; `integer, N >= 1`",
    ]
    assert body[4] == [
        "",
        "$V$ `V`",
        "",
        "nodes that an example reaches",
        "`real, V >= 0`",
    ]
    assert "- **toy2024**: A toy paper (Nowhere 2024)" in text
    assert text.endswith("|\n")


def test_two_letters_for_one_name_share_a_cell(write: Write) -> None:
    edit = ('meaning = "twice that"', 'meaning = "twice that"\napi = "steps"')
    body = rows(notation_markdown(load_specs(write(edit))))
    assert [
        "`steps`",
        "$T$ `T`; $W$ `W`",
        "steps; twice that",
        "`integer, T >= N`; `real`",
    ] in body


def test_deterministic(write: Write) -> None:
    folder = write()
    assert notation_markdown(load_specs(folder)) == notation_markdown(
        load_specs(folder)
    )


def test_writing(write: Write) -> None:
    folder = write()
    path = write_notation(folder)
    assert path == folder / "notation.md"
    assert path.read_text(encoding="utf-8") == notation_markdown(load_specs(folder))


def test_the_committed_table_is_that_of_the_specs() -> None:
    committed = (bundled_specs() / "notation.md").read_text(encoding="utf-8")
    again = 'python -c "from dpverify.ledger import write_notation; write_notation()"'
    assert committed == notation_markdown(load_specs()), (
        f"specs/notation.md is out of date; run {again}"
    )
