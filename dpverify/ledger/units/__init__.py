"""Units: how the letters of a paper scale with the loss and with lengths, and whether its formulas are consistent."""

from dpverify.ledger.units.check import (
    PaperUnits,
    UnitsResult,
    UnitsStatus,
    check_units,
)
from dpverify.ledger.units.scaling import (
    UNITS,
    ExpectedMismatch,
    Normalisation,
    UnitGroup,
    UnitsFile,
)

__all__ = [
    "UNITS",
    "ExpectedMismatch",
    "Normalisation",
    "PaperUnits",
    "UnitGroup",
    "UnitsFile",
    "UnitsResult",
    "UnitsStatus",
    "check_units",
]
