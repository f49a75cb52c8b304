from __future__ import annotations

from dpverify.ledger.check_results import AmendmentResult
from dpverify.ledger.claims import Line
from dpverify.report.pages.templates import definitions_line, given_line
from tests.for_each import for_each


def said(
    given: list[str] | None = None, definitions: list[str] | None = None
) -> AmendmentResult:
    measured = Line(
        word="measured:", text="node_count", latex="V", about="how many nodes"
    )
    return AmendmentResult(
        display=[measured],
        status="proved given",
        why="",
        given=given or [],
        definitions=definitions or [],
    )


@for_each(
    ("premise", "shown"),
    [
        (
            "tran2022:lemma-5 (ordering=once, amended, argued)",
            "`lemma-5` (ordering = once, corrected, argued)",
        ),
        ("node_count is what the derivation starts from", "the meaning of $`V`$"),
        ("other_count is PopCount(p) + PopCount(v)", "the meaning of `other_count`"),
        (
            "argued in words: moved(T) = ceil(T/N)*2",
            "the definition of `moved`, which is argued in words",
        ),
        (
            "Eq(p + v, -a + b + 1)",
            "of letters that only the derivation has, `p + v = -a + b + 1`",
        ),
        (
            "L*eta - moved >= 0",
            "of letters that only the derivation has, `L*eta - moved >= 0`",
        ),
        (
            "A well-known inequality for events: E(x) (x > 0) is 1 (An Author (2017))",
            "A well-known inequality for events (An Author (2017))",
        ),
        (
            "no gradient of F is longer than G",
            "no gradient of $`F`$ is longer than $`G`$",
        ),
    ],
)
def test_premises_in_words(premise: str, shown: str) -> None:
    assert given_line(said([premise])) == f"Given: {shown}."


def test_short_definitions_of_what_is_measured_are_shown() -> None:
    assert (
        definitions_line(said(definitions=["node_count = 2*T", "F(i) = i"]))
        == "By definition $`V`$ is `2*T`."
    )
    assert (
        definitions_line(
            said(
                definitions=["node_count = composed(T)", f"node_count = {'T + ' * 20}T"]
            )
        )
        == ""
    )
