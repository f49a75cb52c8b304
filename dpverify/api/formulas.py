"""The bound of a claim as a sympy expression and as a function of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from dpverify.api.conditions import (
    ConditionError,
    NumberInput,
    chosen_statement,
    exact_number,
    interval,
    needed_part,
    violations,
)
from dpverify.api.explanation import single_claim
from dpverify.kernels.check import ArgumentError
from dpverify.ledger import ClaimSpec, Specs, load_specs
from dpverify.ledger.claims import display, texts
from dpverify.ledger.records import ORDERS, Severity, Status
from dpverify.ledger.statements import Statement, Variant
from dpverify.report.numbers import show_float
from dpverify.report.words import reading_words, status_words
from dpverify.symbolic.exact.evaluate import evaluate_statement, to_number
from dpverify.symbolic.exact.numbers import EvaluationError, Exact, UndecidedError

PRECISIONS = (256, 1024, 2048)  # bits of the balls, increased until the value is sharp
SHARP_BITS = 60  # required relative accuracy of a value, more than that of a float


@dataclass(frozen=True, eq=False, repr=False)
class ClaimFormula:
    """The right side of a claim: ``formula.expression`` for sympy, ``formula(N=1000, ...)`` for numbers.

    The letters are those of the paper. ``print(formula)`` lists them with their domains
    and meanings.

    Attributes
    ----------
    statement : dpverify.ledger.statements.Statement
        The statement with every formula parsed.
    status : str
        Our verdict on this statement, such as "refuted" or "proved".
    severity : str or None
        Consequence of the error, if it is a printed statement that is refuted.
    why : str
        Reason of the verdict, or of the amendment.

    Examples
    --------
    >>> import dpverify as dv
    >>> corrected = dv.formula("tran2022:lemma-12", "amended")
    >>> sorted(map(str, corrected.expression.free_symbols))
    ['G', 'T', 'V', 'alpha', 'd', 'sigma']
    >>> corrected(G=1, T=1023, t=1023, V=4, alpha=0.01, d=10, sigma=2)
    1.6
    """

    statement: Statement
    status: Status
    severity: Severity | None
    why: str

    @property
    def claim(self) -> str:
        """Full id of the claim."""
        return self.statement.key

    @property
    def variant(self) -> Variant:
        """Kind of statement: printed, amended, or held (the printed statement where it holds)."""
        return self.statement.variant

    @property
    def reading(self) -> dict[str, str]:
        """The choice for each of the claim's readings."""
        return dict(self.statement.reading)

    @property
    def relation(self) -> str:
        """Relation of the left side to the right side: <=, =, >=, <, >, O or O~."""
        return str(self.statement.relation)

    @cached_property
    def expression(self) -> Any:
        """The right side as a sympy expression, with definitions substituted."""
        return self._sides[1]

    @cached_property
    def left(self) -> Any:
        """The left side as a sympy expression, or the name of the quantity if code measures it."""
        return self.statement.quantity if self._sides[0] is None else self._sides[0]

    @property
    def letters(self) -> dict[str, str]:
        """Letters that need a value, each with its domain and its meaning."""
        needed = self._needed
        symbols = self.statement.symbols
        return {
            name: f"{needed.domains[name]} ({symbols[name].meaning})"
            for name in needed.free
        }

    @property
    def conditions(self) -> list[str]:
        """Conditions on the letters, in addition to their domains."""
        return texts(display(self.statement), "if")

    def __call__(self, **numbers: NumberInput) -> float:
        """Evaluate the right side.

        Parameters
        ----------
        **numbers
            A value for each of ``letters``. A float is replaced by the simplest
            fraction with its value. Exact numbers are int, Fraction, or text such as
            "1/3".

        Returns
        -------
        float
            The nearest float.

        Raises
        ------
        ConditionError
            If a condition or a domain is violated. The message names it, with the
            values.
        ValueError
            If a letter is missing or unknown, if the claim is about an order of growth,
            which has no constant, or if the formula has no value, for example because
            it contains vector functions of the paper.
        """
        return float(to_number(self.exact(**numbers)).float)

    def exact(self, **numbers: NumberInput) -> Exact:
        """Evaluate the right side without rounding: a Fraction if it is rational, else a ball (``flint.arb``)."""
        if self.statement.relation in ORDERS:
            raise ValueError(
                f"{self._name} is an order of growth, whose constant is unknown: use its expression."
            )
        point = self._point(numbers)
        part = needed_part(self.statement, point)
        if missing := [name for name in part.free if name not in point]:
            raise ValueError(
                f"{self._name} needs {'; '.join(self._wanted(name, point) for name in missing)}."
            )
        if failing := violations(part, point):
            raise ConditionError(self._name, failing)
        try:
            return _sharp_value(part, point)
        except EvaluationError as error:
            raise ValueError(f"{self._name} has no value here: {error}") from error

    def limits(self, letter: str, **numbers: NumberInput) -> tuple[float, float]:
        """Find the values of a letter that its domain and the conditions allow.

        Parameters
        ----------
        letter : str
            One of ``letters``.
        **numbers
            Values of the other letters in the conditions that mention this letter.

        Returns
        -------
        tuple of float
            Smallest and largest value, rounded inwards; infinite if there is no limit.
            If the condition is strict, the limit itself is excluded.

        Raises
        ------
        ConditionError
            If the numbers violate another condition, or if no value is allowed.
        ValueError
            If a letter is missing or unknown, or if a condition cannot be solved for
            the letter.

        Examples
        --------
        >>> import dpverify as dv
        >>> smallest, largest = dv.formula("tran2022:theorem-4-dp", "amended").limits("sigma", epsilon=2, delta=1e-5)
        >>> round(smallest, 4), largest
        (3.3931, inf)
        """
        if letter not in self.letters:
            raise ArgumentError(
                "letter", letter, f"must be one of {', '.join(self.letters)}"
            )
        point = self._point(numbers)
        part = needed_part(self.statement, point)
        return interval(
            part,
            letter,
            {name: value for name, value in point.items() if name != letter},
            self._name,
        )

    @cached_property
    def _sides(self) -> tuple[Any, Any]:
        from dpverify.symbolic.expressions.translation import sympy_sides

        return sympy_sides(self.statement)

    @cached_property
    def _needed(self) -> Statement:
        return needed_part(self.statement)

    @property
    def _name(self) -> str:
        """Claim, variant and reading in words."""
        return ", ".join(
            filter(
                None, [self.claim, self.variant, reading_words(self.statement.reading)]
            )
        )

    @property
    def _verdict(self) -> str:
        return status_words(self.status, self.severity)

    def _point(self, numbers: Mapping[str, NumberInput]) -> dict[str, Fraction]:
        """Return the exact numbers. Raises a ValueError for a name that is not a letter of the statement."""
        for name in numbers:
            if name in self.statement.let_names:
                raise ValueError(
                    f"{self._name} defines {name} itself: it needs {', '.join(self.letters)}."
                )
            if name not in self.statement.free:
                raise ValueError(
                    f"{self._name} has no letter {name}: it needs {', '.join(self.letters)}."
                )
        return {name: exact_number(name, value) for name, value in numbers.items()}

    def _wanted(self, name: str, point: Mapping[str, Fraction]) -> str:
        """Describe a missing letter by its meaning, and its smallest and largest value if these can be computed."""
        symbol = self.statement.symbols[name]
        description = f"{name} ({self.statement.domains[name]}: {symbol.meaning})"
        try:
            low, high = interval(
                needed_part(self.statement, point), name, point, self._name
            )
        except ValueError:
            return description
        return f"{description} from {show_float(low)} to {show_float(high)}"

    def __repr__(self) -> str:
        return f"<ClaimFormula {self._name}: {display(self.statement)[0]} [{self._verdict}]>"

    def __str__(self) -> str:
        lines = [
            str(line)
            for line in display(self.statement)
            if line.word not in ("where", "reading")
        ]
        letters = [f"{name}: {meaning}" for name, meaning in self.letters.items()]
        about = [f"{self._name}: {self._verdict}", *([self.why] if self.why else [])]
        return "\n".join(
            [
                *about,
                *(f"  {line}" for line in lines),
                "letters",
                *(f"  {line}" for line in letters),
            ]
        )

    def _repr_markdown_(self) -> str:
        lines = display(self.statement)
        formulas = [
            f"- {line.word} ${line.latex}$"
            for line in lines
            if line.word in ("with", "if") and line.latex
        ]
        assumed = [f"- assuming {text}" for text in texts(lines, "assuming")]
        below = [*formulas, *assumed]
        head = (
            f"**{self._name}**: {self._verdict}\n\n$$\n{self.statement.latex()}\n$$\n\n"
        )
        return head + "\n".join(below)


def formula(
    claim: str,
    variant: Variant = "printed",
    *,
    specs: Path | str | Specs | None = None,
    **reading: str,
) -> ClaimFormula:
    """Return the bound that a claim states, as the paper prints it or as we correct it.

    Parameters
    ----------
    claim : str
        Full id, such as "tran2022:lemma-12", or an id that only one paper has.
    variant : {"printed", "amended", "held"}
        The printed statement, our correction, or the printed statement under conditions
        under which it holds.
    specs : pathlib.Path, str or Specs, optional
        Folder of specs, or specs already loaded; by default the bundled specs.
    **reading
        Choices of the claim's readings, such as ``ordering="fresh"``. They are required
        if the readings have different statements or verdicts. The error lists the
        choices.

    Returns
    -------
    ClaimFormula
        Its ``expression`` is a sympy expression. Call it with numbers to evaluate it.
        ``status`` is our verdict; a printed statement may be refuted.

    Raises
    ------
    UnknownClaim
        If there is no such claim.
    SpecError
        If the claim has no such reading.
    ValueError
        If a pattern matches several claims, the claim has no such variant, it is stated
        in words, or a reading must be chosen.

    Examples
    --------
    The corrected Theorem 4 of tran2022 gives the smallest sigma for which it promises epsilon and delta:

    >>> import dpverify as dv
    >>> theorem = dv.formula("tran2022:theorem-4-dp", "amended")
    >>> sigma, _ = theorem.limits("sigma", epsilon=2, delta=1e-5)
    >>> round(sigma, 4)
    3.3931
    >>> theorem(N=60_000, T=60_000, alpha=0.001, epsilon=2, delta=1e-5, sigma=sigma)
    1e-05
    """
    loaded = specs if isinstance(specs, Specs) else load_specs(specs)
    spec = single_claim(loaded, claim)
    statement = chosen_statement(spec, variant, reading)
    if statement.rhs is None:
        words = " ".join((statement.words or "").split())
        raise ValueError(
            f"{statement.reference} is stated in words and has no formula: {words}"
        )
    return _with_verdict(spec, statement)


def _with_verdict(spec: ClaimSpec, statement: Statement) -> ClaimFormula:
    """Return a formula with the status, severity and reason of our verdict."""
    verdict = spec.verdict(statement.reading)
    status = spec.pinned(statement.reading, statement.variant)
    if verdict is None:
        return ClaimFormula(statement, status, None, "")
    judged = verdict.amendment if statement.variant == "amended" else verdict.holds
    if statement.variant == "printed" or judged is None:
        return ClaimFormula(statement, status, verdict.severity, verdict.reason)
    return ClaimFormula(statement, status, None, judged.why)


def _sharp_value(statement: Statement, point: Mapping[str, Fraction]) -> Exact:
    """Return the right side at a point, exactly or with more bits than a float has."""
    for bits in PRECISIONS:
        value = evaluate_statement(statement, point, precision=bits)[1]
        if (
            isinstance(value, Fraction)
            or not value.is_finite()
            or value.rel_accuracy_bits() >= SHARP_BITS
        ):
            return value
    raise UndecidedError(f"{PRECISIONS[-1]} bits do not tell the value.")
