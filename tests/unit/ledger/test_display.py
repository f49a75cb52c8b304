from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

import pytest

from dpverify.ledger import Specs, Statement, load_specs
from dpverify.ledger.check_results import AmendmentResult
from dpverify.ledger.claims import Line, display, texts
from dpverify.ledger.formula import parse, parse_relation
from dpverify.ledger.vocabulary import Assumption, parse_domain, parse_tag
from dpverify.report.statements import statement_in_line
from tests.for_each import for_each
from tests.unit.ledger.latex_reader import Reader, UnreadableError, normal

_SIDES = re.compile(r"(?P<left>.+?) (?P<relation><=|>=|=|<|>) (?P<right>.+)")
_ORDER = re.compile(r"(?P<order>O~?)\((?P<inside>.*)\)")

Content = tuple[object, ...]  # all that a statement says, however it came to be said


def content(said: Statement) -> Content:
    words = None if said.words is None else " ".join(said.words.split())
    sides = (
        (said.lhs or said.quantity, said.relation, said.rhs)
        if words is None
        else (said.quantity, None, None)
    )
    conditions = (
        said.let,
        said.requires,
        said.assumes,
        tuple(said.domains.items()),
        tuple(sorted(said.hides)),
    )
    return (*sides, words, *conditions, tuple(said.reading.items()))


@cache
def tags_of_papers() -> dict[str, Assumption]:
    """Tags of all papers, those that a paper declares included."""
    return {
        name: said
        for paper in load_specs().papers.values()
        for name, said in paper.vocabulary.assumptions.items()
    }


def read_back(shown: str, quantities: frozenset[str]) -> Content:
    """What a reader of the lines makes of them, with the formula language and nothing else."""
    lines = shown.splitlines()
    after = {
        word: [line[len(word) + 1 :] for line in lines if line.startswith(f"{word} ")]
        for word in WORDS
    }
    let = tuple(
        (name, parse(value))
        for name, _, value in (text.partition(" = ") for text in after["with"])
    )
    conditions = tuple(map(parse_relation, after["if"]))
    assumed = tuple(parse_tag(text, tags_of_papers()) for text in after["assuming"])
    domains = tuple(
        (name, parse_domain(rest))
        for name, _, rest in (text.partition(" ") for text in after["where"])
    )
    hidden = tuple(after["constant may depend on"])
    reading = tuple(
        (name, choice)
        for name, _, choice in (text.partition(" = ") for text in after["reading"])
    )
    belongs = (let, conditions, assumed, domains, hidden, reading)
    if words := after["in words:"]:
        return (next(iter(after["measured:"]), None), None, None, words[0], *belongs)
    found = _SIDES.fullmatch(lines[0])
    assert found, lines[0]
    left = found["left"] if found["left"] in quantities else parse(found["left"])
    order = _ORDER.fullmatch(found["right"]) if found["relation"] == "=" else None
    relation, right = (
        (order["order"], order["inside"])
        if order
        else (found["relation"], found["right"])
    )
    return (left, relation, parse(right), None, *belongs)


WORDS = (
    "in words:",
    "with",
    "if",
    "assuming",
    "where",
    "measured:",
    "constant may depend on",
    "reading",
)


def shown_formulas(said: Statement) -> Iterator[tuple[str, object]]:
    """Each formula of a statement as LaTeX, and what was judged; a measured side is LaTeX that the paper declares."""
    lines = display(said)
    if said.rhs is not None and said.relation is not None:
        left, sign, right = lines[0].latex.partition(SIGNS[said.relation])
        assert sign, said.reference
        if said.lhs is None:
            assert said.measured is None or left.rstrip() == said.measured.latex
        else:
            yield left, normal(said.lhs)
        yield (
            right.removesuffix(r"\right)") if sign.endswith("(") else right,
            normal(said.rhs),
        )
    letter = {name: f"{said.symbols[name].latex} = " for name, _ in said.let}
    for line, (name, value) in zip(
        [line for line in lines if line.word == "with"], said.let, strict=True
    ):
        assert line.latex.startswith(letter[name])
        yield line.latex.removeprefix(letter[name]), normal(value)
    for line, condition in zip(
        [line for line in lines if line.word == "if"], said.requires, strict=True
    ):
        yield line.latex, normal(condition)
    for line, domain in zip(
        [line for line in lines if line.word == "where"],
        said.domains.values(),
        strict=True,
    ):
        shown_parts = line.latex.split(r",\ ") if domain.constraints else []
        yield from zip(shown_parts, map(normal, domain.constraints), strict=True)


SIGNS = {
    "<=": r" \le ",
    ">=": r" \ge ",
    "=": " = ",
    "<": " < ",
    ">": " > ",
    "O": r" = O\left(",
    "O~": r" = \tilde O\left(",
}


def statements(specs: Specs) -> Iterator[tuple[str, Statement, frozenset[str]]]:
    """Every statement there is: all claims, all readings, printed and corrected."""
    for claim in specs.claims():
        for said in claim.statements():
            yield claim.paper, said, frozenset(claim.vocabulary.quantities)


@pytest.fixture(scope="module")
def all_statements() -> list[tuple[str, Statement, frozenset[str]]]:
    return list(statements(load_specs()))


def test_every_statement_that_is_shown_reads_back_as_the_one_that_was_judged(
    all_statements: list[tuple[str, Statement, frozenset[str]]],
) -> None:
    assert len(all_statements) > 400
    for _, said, quantities in all_statements:
        assert read_back("\n".join(map(str, display(said))), quantities) == content(
            said
        ), said.reference


def test_every_formula_that_is_typeset_reads_back_as_the_one_that_was_judged(
    all_statements: list[tuple[str, Statement, frozenset[str]]],
) -> None:
    """Read with the statement's letters and the paper's functions, by a reader that knows only what LaTeX means."""
    read = 0
    for _, said, _ in all_statements:
        letters = {name: said.symbols[name].latex for name in said.domains}
        functions = {name: function.latex for name, function in said.functions.items()}
        for shown, judged in shown_formulas(said):
            assert Reader(shown, letters, functions).whole() == judged, (
                f"{said.reference}: {shown}"
            )
            read += 1
    assert read > 5000


@for_each(
    ("shown", "meant"),
    [
        (r"a b + c", "a*(b + c)"),
        (r"a - b + c", "a - (b + c)"),
        (r"\frac{a}{b c}", "a/b*c"),
        (r"\log_2(T) x", "log2(T*x)"),
        (r"\sqrt{a} b", "sqrt(a*b)"),
        (r"-a^{2}", "(-a)**2"),
        (r"\sum_{i=1}^{T} a b", "sum(a, i, 1, T)*b"),
        (r"\lfloor a \rfloor", "ceil(a)"),
    ],
)
def test_the_reader_sees_a_bracket_or_a_function_that_is_wrong(
    shown: str, meant: str
) -> None:
    assert Reader(shown, {}, {}).whole() != normal(parse(meant))


@for_each("shown", [r"\frac{a}{b", "a + ", r"\unknown", "(a]", "a)"])
def test_the_reader_refuses_what_is_no_formula(shown: str) -> None:
    with pytest.raises(UnreadableError, match="at "):
        Reader(shown, {}, {}).whole()


def test_two_different_statements_are_never_shown_alike(
    all_statements: list[tuple[str, Statement, frozenset[str]]],
) -> None:
    """Neither on the pages, where letters are the paper's."""
    meant: dict[tuple[str, str], set[Content]] = defaultdict(set)
    for paper, said, _ in all_statements:
        lines = display(said)
        shown = statement_in_line(
            AmendmentResult(display=lines, status="proved", why="")
        )
        meant[paper, shown].add(content(said))
    assert not [shown for shown, contents in meant.items() if len(contents) > 1]


def test_no_two_letters_of_a_statement_look_alike(
    all_statements: list[tuple[str, Statement, frozenset[str]]],
) -> None:
    for _, said, _ in all_statements:
        letters = [said.symbols[name].latex for name in said.domains]
        assert len(letters) == len(set(letters)), said.reference


@for_each(
    ("claim", "word", "line"),
    [
        ("theorem-8", "with", "delta_Delta = 2*eta*N*L"),
        ("theorem-8", "with", "delta_r = 2*eta*N*L"),
        ("theorem-4-dp", "if", "epsilon <= 7/3*log(1/delta)"),
    ],
)
def test_a_corrected_statement_has_its_own_definitions_and_conditions(
    claim: str, word: str, line: str
) -> None:
    spec = load_specs().claim(f"tran2022:{claim}")
    corrected, printed = (
        display(spec.statement(None, "amended")),
        display(spec.statement()),
    )
    assert line in texts(corrected, word)  # type: ignore[arg-type]  # one of the words
    assert line not in texts(printed, word)  # type: ignore[arg-type]  # one of the words


def test_what_is_measured_and_what_a_reading_means_is_said() -> None:
    lines = display(load_specs().claim("tran2022:lemma-12").statement())
    assert next(line for line in lines if line.word == "measured:").about
    (reading,) = [line for line in lines if line.word == "reading"]
    assert reading == Line(word="reading", text="depth = levels", about=reading.about)
    assert "depth" in reading.about or reading.about
