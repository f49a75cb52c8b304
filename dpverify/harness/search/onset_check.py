"""A rule that holds a table of onsets against a record, with the table in words and as a figure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import msgspec

from dpverify.harness.context import Context
from dpverify.harness.search.rule_check import RuleCheck
from dpverify.ledger.results import CheckResult


@dataclass(frozen=True)
class OnsetCheck(RuleCheck):
    """A :class:`RuleCheck` with a table in its message and a figure; smoke runs make neither, and look at few cells."""

    table: Callable[[], str] = field(kw_only=True)  # all onsets in words

    def cost(self, context: Context) -> float:
        """Declared core seconds."""
        return self.seconds * (0.2 if context.budget.name == "smoke" else 1.0)

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Do what the base does, and add the table to the message."""
        if context.budget.name == "smoke":
            return RuleCheck.run_block(replace(self, figures=None), context, block)
        result = super().run_block(context, block)
        return msgspec.structs.replace(result, message=f"{result.message}; {self.table()}")
