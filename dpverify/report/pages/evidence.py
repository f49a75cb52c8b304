"""The evidence of a verdict as blocks of markdown: counterexamples, derivations, checks, controls."""

from __future__ import annotations

from collections.abc import Sequence

from dpverify.ledger.results import CheckResult, Counterexample, DerivationResult, Slack, StepResult, Vacuous
from dpverify.report import markdown as md
from dpverify.report.numbers import ratio, show, show_both, show_count, show_float, show_point
from dpverify.report.words import COUNTEREXAMPLES, METHODS, status_label

FOLDED = 4
"""A derivation with more steps is folded: a reader sees that it is complete, and opens it to see how."""


def counterexample_block(examples: Sequence[Counterexample]) -> str:
    """The counterexamples: where, both sides (exact and as floats), their ratio."""
    rows = [
        [
            COUNTEREXAMPLES[example.kind],
            md.code(show_point(example.parameters)),
            show_both(example.lhs),
            show_both(example.rhs),
            show_float(ratio(example.lhs, example.rhs), 4),
            md.prose(example.note),
        ]
        for example in examples
    ]
    header, rows = _drop_empty(["counterexample", "at", "left side", "right side", "left / right", "note"], rows)
    return md.table(header, rows)


def slack_line(slack: Slack | None, vacuous: Vacuous | None, region: str) -> str:
    """Slack, vacuity and region, a line each."""
    lines = []
    if slack is not None:
        lines.append(f"Slack (printed / exact): smallest {show(slack.min)}, typical {show(slack.typical)}.")
    if vacuous is not None:
        says = "**vacuous**: it says no more than the trivial bound" if vacuous.value else "not vacuous"
        lines.append(f"The bound is {says} (grid: {md.prose(vacuous.grid)}; onset: {md.prose(vacuous.onset)}).")
    if region:
        lines.append(f"Region searched: {md.prose(region)}.".replace("..", "."))
    return md.bullets(lines)


def derivation_block(derivation: DerivationResult) -> list[str]:
    """A derivation: what it is, then its steps as a table, folded where they are many and none fails."""
    whose = "ours" if derivation.whose == "ours" else "the paper's own chain"
    state = "complete" if derivation.complete else "**not complete**"
    note = f" {md.prose(derivation.note)}" if derivation.note else ""
    header = ["step", "relation", "expression", "rule", "premises", "status", "points", "slack", "note"]
    rows = [_step_row(number, step) for number, step in enumerate(derivation.steps)]
    header, rows = _drop_empty(header, rows)
    steps = md.table(header, rows)
    if derivation.complete and len(rows) > FOLDED:
        steps = md.folded(f"its {len(rows)} steps", steps)
    return [f"Derivation {md.code(derivation.name)} ({whose}; {state}).{note}", steps]


def _step_row(number: int, step: StepResult) -> list[str]:
    bold = "**" if step.status in {"undecided", "fails"} else ""
    return [
        str(number),
        md.inline_math({"<=": r"\le", ">=": r"\ge"}.get(step.relation, step.relation)),
        md.inline_math(step.latex) or md.code(step.expression),
        md.prose(step.rule),
        ", ".join(map(md.code, step.premises)),
        f"{bold}{step.status}{bold}",
        str(step.points) if step.points else "",
        show(step.slack) if step.slack else "",
        md.prose(step.note),
    ]


def checks_block(checks: Sequence[CheckResult], region: str = "") -> list[str]:
    """The plans of the checks and what came out; then what each said, its planted faults, and what it leaves out."""
    header = ["check", "method", "outcome", "n", "alpha", "power", "smallest fault it must see", "statistic"]
    header, rows = _drop_empty(header, [_check_row(check) for check in checks])
    said = [f"{md.code(c.name)}: {md.prose(c.message)}" for c in checks if c.message]
    regions = [f"{md.code(c.name)}: {md.prose(c.region)}" for c in checks if c.region not in {"", region}]
    left_out = [f"{md.code(c.name)}: {md.prose(c.leaves_out)}" for c in checks if c.leaves_out]
    return [
        md.table(header, rows),
        _titled("What the checks said:", said),
        _titled("Where they looked:", regions),
        controls_block(checks),
        _titled("What the evidence leaves out:", left_out),
    ]


def _check_row(check: CheckResult) -> list[str]:
    disagrees = "\n**kernel disagrees with the algebra**" if check.kernel_disagrees else ""
    return [
        md.code(check.name),
        METHODS[check.method],
        status_label(check.status) + disagrees,
        show_count(check.n) if check.n else "",
        show_float(check.alpha, 2) if check.alpha else "",
        show_float(check.power) if check.power else "",
        md.prose(check.detects),
        md.prose(check.statistic),
    ]


def controls_block(checks: Sequence[CheckResult]) -> str:
    """The planted faults of all checks, and whether each was seen."""
    rows = [
        [
            md.code(check.name),
            md.prose(control.fault or control.name),
            "yes" if control.at_declared_size else "",
            "seen" if control.refuted else "**not seen**",
            md.prose(control.statistic),
        ]
        for check in checks
        for control in check.controls
    ]
    header, rows = _drop_empty(["check", "planted fault", "at the declared size", "seen", "statistic"], rows)
    return md.table(header, rows)


def _titled(title: str, lines: Sequence[str]) -> str:
    return f"{title}\n\n{md.bullets(lines)}" if lines else ""


def _drop_empty(header: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """Leave out the columns in which no row has anything to say."""
    kept = [column for column in range(len(header)) if any(row[column] for row in rows)]
    return [header[column] for column in kept], [[row[column] for column in kept] for row in rows]
