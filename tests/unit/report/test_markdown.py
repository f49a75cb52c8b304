from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.report import markdown as md
from tests.for_each import for_each
from tests.unit.report.rendering import PARSER, cells, raw_tables, shown, tables

# Characters that mean something in markdown, among some that do not.
NASTY = st.text(alphabet="ab1 _*`|<>#[]()!\\~&;-+.=$:\n", max_size=40)
LINE = NASTY.map(lambda text: text.replace("\n", " "))


def words(text: str) -> str:
    return " ".join(text.split())


@given(LINE)
def test_escaped_text_reads_as_it_was(text: str) -> None:
    assert words(shown(md.escape(text))) == words(text)


@given(LINE)
def test_escaped_text_is_one_paragraph(text: str) -> None:
    kinds = [
        token.type
        for token in PARSER.parse(md.escape(text).strip())
        if token.nesting == 1
    ]
    assert kinds in ([], ["paragraph_open"]), md.escape(text)


@given(st.lists(LINE, min_size=2, max_size=2), st.lists(LINE, min_size=2, max_size=2))
def test_table_keeps_its_shape_whatever_is_in_it(
    first: list[str], second: list[str]
) -> None:
    out = md.table(
        ["a", "b"], [[md.escape(cell) for cell in row] for row in (first, second)]
    )
    assert tables(out) == 1
    assert [len(cells(line)) for lines in raw_tables(out) for line in lines] == [
        2,
        2,
        2,
        2,
    ]
    shows = [words(part) for part in shown(out).split("\n")]
    assert shows == ["a", "b", *map(words, first), *map(words, second)]


@given(LINE)
def test_code_span_holds_its_text(text: str) -> None:
    tokens = PARSER.parse(md.code(text))
    spans = [
        child.content
        for token in tokens
        for child in token.children or []
        if child.type == "code_inline"
    ]
    assert [words(span) for span in spans] == ([words(text)] if text.strip() else [])


@given(LINE)
def test_code_span_survives_a_table(text: str) -> None:
    out = md.table(["a"], [[md.code(text)]])
    assert words(shown(out).split("\n", 1)[1]) == words(text)


@for_each(
    ("text", "markdown"),
    [
        ("m_t and a_b_c", "m_t and a_b_c"),
        ("`a|b` - c", "`a|b` - c"),
        ("$|x|_2$ is $\\|y\\|$", "$`\\vert x\\vert _2`$ is $`\\Vert y\\Vert`$"),
        ("costs $5 and $6", "costs \\$5 and \\$6"),
        ("x<sub>t</sub> <b>", "x<sub>t</sub> &lt;b>"),
        ("- no list", "\\- no list"),
        ("3. no list", "3\\. no list"),
        ("3.5 is fine", "3.5 is fine"),
        ("# no heading", "\\# no heading"),
        ("[1, t](2)", "[1, t\\](2)"),
        ("AT&amp;T", "AT&amp;amp;T"),
    ],
)
def test_prose(text: str, markdown: str) -> None:
    assert md.prose(text) == markdown


def test_formula_without_macros_github_refuses() -> None:
    assert (
        md.math_block("\\operatorname{Var} |x|\n\n\\le 1\n")
        == "```math\n\\mathrm{Var} |x|\n\\le 1\n```"
    )
    assert (
        md.inline_math("\\operatorname*{min} a \\\\ b") == "$`\\mathrm{min} a \\\\ b`$"
    )


def test_quote_sets_display_formulas_apart_and_keeps_lines() -> None:
    text = "**Lemma 1.** If $ a_1 $ then\n\n$$a \\le \\|b\\|$$\n\nfor all\nt"
    assert md.quote(text).split("\n") == [
        "> **Lemma 1.** If $`a_1`$ then",
        ">",
        "> ```math",
        "> a \\le \\|b\\|",
        "> ```",
        ">",
        "> for all\\",
        "> t",
    ]


def test_row_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="a row has 1 cells where the header has 2"):
        md.table(["a", "b"], [["x"]])


def test_table_without_rows_is_nothing() -> None:
    assert md.table(["a"], []) == ""


def test_document_has_single_empty_lines_and_one_newline_at_its_end() -> None:
    assert md.document(["a\n", "", "\n b\n\n", " "]) == "a\n\n b\n"
