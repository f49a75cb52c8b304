"""Records of ``units.toml``: how the letters of a paper scale, and the inconsistencies that are explained."""

from __future__ import annotations

from pathlib import Path

from dpverify.ledger.errors import Place, Problems
from dpverify.ledger.files import content, records_in
from dpverify.ledger.records import Record

UNITS = "units.toml"


class UnitGroup(Record, frozen=True, kw_only=True):
    """Letters, functions and quantities that scale alike.

    If the loss is multiplied by c, they are multiplied by c**loss. If lengths are
    multiplied by c, they are multiplied by c**length.

    Parameters
    ----------
    names
        Names of ``claims.toml`` or of the letters of ``definitions.toml``.
    loss, length
        The two exponents.
    claims
        Ids of the claims in which the names have this unit; all claims if empty. A
        group with claims has precedence.
    """

    names: list[str]
    loss: int = 0
    length: int = 0
    claims: list[str] = []


class Normalisation(Record, frozen=True, kw_only=True):
    """Records that set a unit to 1 without saying so in a condition. Their units are compared up to its powers.

    Parameters
    ----------
    of
        The ids of claims (for all variants and their proofs), ``definition NAME`` and
        ``lemma NAME``.
    loss, length
        Exponents of the unit that is 1.
    why
        The parameter choice that sets the unit to 1, and its place in the paper.
    """

    of: list[str]
    loss: int = 0
    length: int = 0
    why: str


class ExpectedMismatch(Record, frozen=True, kw_only=True):
    """Inconsistencies with one explanation.

    Parameters
    ----------
    of
        The records as ``dpverify units`` names them, such as ``lemma-12`` or ``lemma-12
        (amended)``.
    why
        Whether the paper is wrong or leaves out a parameter, and where.
    """

    of: list[str]
    why: str


class UnitsFile(Record, frozen=True, kw_only=True):
    """``specs/<paper>/units.toml``."""

    unit: list[UnitGroup] = []
    normalised: list[Normalisation] = []
    expected: list[ExpectedMismatch] = []


def read_units(folder: Path, problems: Problems | None = None) -> UnitsFile:
    """Read the units of a paper; a paper without the file states no units.

    Errors in the file are added to ``problems``. If ``problems`` is None, the first error is raised as a `SpecError`.
    """
    path = folder / UNITS
    if not path.exists():
        return UnitsFile()
    place = Place(str(path))
    reasons = Problems() if problems is None else problems
    return records_in(content(path, place), UnitsFile, place, reasons) or UnitsFile()
