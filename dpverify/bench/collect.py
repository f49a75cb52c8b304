"""Put together what the passes measured: one record per case, with medians, intervals, targets and exponents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dpverify.bench.case import Case, Target
from dpverify.bench.child import Answer
from dpverify.bench.statistics import exponents, median_interval, ratios
from dpverify.report.bench.records import (
    AimRecord,
    CaseRecord,
    FitRecord,
    FormRecord,
    Interval,
    Outcome,
    Role,
    TargetRecord,
)


@dataclass
class _Samples:
    """What was measured of one form."""

    seconds: list[list[float]] = field(default_factory=list)
    repeats: list[int] = field(default_factory=list)
    added: list[int] = field(default_factory=list)
    peaks: list[int] = field(default_factory=list)
    call_added: int | None = None
    parts: dict[str, list[float]] = field(default_factory=dict)
    counts: dict[str, float] = field(default_factory=dict)
    missing: str = ""


@dataclass
class Desk:
    """Where the answers about one case come together."""

    group: str  # the case's group
    case: Case
    error: str = ""  # what went wrong; the case is not measured again then
    passes: int = 0
    forms: dict[str, _Samples] = field(default_factory=dict)
    yardstick: list[list[float]] = field(default_factory=list)

    def take(self, answer: Answer) -> None:
        """Take in an answer."""
        self.error = self.error or answer.error
        if answer.added is not None:
            self._of(answer.form).added.append(answer.added)
        if answer.measured is None:
            return
        self.passes += 1
        if answer.measured.yardstick is not None:
            self.yardstick.append(answer.measured.yardstick.seconds)
        for name, why in answer.measured.missing.items():
            self._of(name).missing = why
        for name, times in answer.measured.times.items():
            samples = self._of(name)
            # passes in which a sparse form was left out stay empty, so that passes of all forms keep their places
            samples.seconds += [[]] * (self.passes - 1 - len(samples.seconds))
            samples.seconds.append(times.seconds)
            samples.repeats.append(times.repeats)
            samples.peaks += times.peaks
            samples.call_added = times.added if samples.call_added is None else samples.call_added
            for part, seconds in times.parts.items():
                samples.parts.setdefault(part, []).extend(seconds)
        for name, found in answer.counts.items():
            self._of(name).counts = found

    def _of(self, form: str) -> _Samples:
        return self.forms.setdefault(form, _Samples())

    def record(self) -> CaseRecord | None:
        """Everything about the case; None where nothing was measured and nothing went wrong."""
        if not self.forms and not self.error:
            return None
        case = self.case
        return CaseRecord(
            group=self.group,
            name=case.name,
            title=case.title,
            limit=case.limit,
            parameters={name: float(value) for name, value in case.parameters.items()},
            work=float(case.work),
            item=case.item,
            clock=case.clock,
            sweep=case.sweep,
            over=case.over,
            forms=[self._form(name, samples) for name, samples in self.forms.items()],
            targets=[self._target(target) for target in case.targets if "exponent" not in target.kind],
            limit_is_ours=case.limit_is_ours,
            yardstick=self.yardstick,
            error=self.error,
        )

    def _form(self, name: str, samples: _Samples) -> FormRecord:
        role: Role = "limit" if name == self.case.limit else "peer" if name in self.case.peers else "measured"
        return FormRecord(
            name=name,
            role=role,
            missing=samples.missing,
            samples=samples.seconds,
            repeats=samples.repeats,
            added=samples.added,
            peaks=samples.peaks,
            call_added=samples.call_added,
            parts=samples.parts,
            counts=samples.counts,
            seconds=_interval(samples.seconds),
            ratio=None if role == "limit" else self._ratio(name, self.case.limit),
        )

    def _ratio(self, form: str, to: str) -> Interval | None:
        if form not in self.forms or to not in self.forms:
            return None
        return _interval(ratios(self.forms[form].seconds, self.forms[to].seconds))

    def _target(self, target: Target) -> TargetRecord:
        to, value = "", None
        if target.kind == "ratio":
            to = target.to or self.case.limit
            value = self._ratio(target.form, to)
        elif target.form in self.forms and target.kind == "seconds":
            work = self.case.work
            value = _interval([[each / work for each in rounds] for rounds in self.forms[target.form].seconds])
        elif target.form in self.forms:
            value = _interval([[float(each)] for each in self.forms[target.form].added])
        return judged(target, value, to)


def judged(target: Target, value: Interval | None, to: str = "") -> TargetRecord:
    """A target with what was measured of it: met or missed where the whole interval is on one side."""
    outcome: Outcome = "not measured"
    if value is not None:
        low, high = value.low, value.high
        if target.at_least is not None:
            reached, failed = low >= target.at_least, high < target.at_least
        else:
            bound = float("inf") if target.at_most is None else target.at_most
            reached, failed = high <= bound, low > bound
        outcome = "met" if reached else "missed" if failed else "too close to tell"
    return TargetRecord(
        form=target.form,
        kind=target.kind,
        to=to,
        at_most=target.at_most,
        at_least=target.at_least,
        words=target.words,
        value=value,
        outcome=outcome,
    )


def aims(cases: Iterable[tuple[str, Case]]) -> list[AimRecord]:
    """All targets of some cases, none of them measured. Those of a sweep's growth once, under the name of the sweep."""
    found: dict[tuple[str, ...], AimRecord] = {}
    for group, case in cases:
        for target in case.targets:
            name = case.sweep if "exponent" in target.kind else case.name
            to = (target.to or case.limit) if target.kind == "ratio" else ""
            aim = AimRecord(group=group, name=name, title=case.title, target=judged(target, None, to))
            found.setdefault((group, name, target.form, target.kind, to), aim)
    return list(found.values())


def fits(desks: Sequence[Desk]) -> list[FitRecord]:
    """Exponents of every sweep.

    Of each form that was measured at every size in some pass; seconds, and memory where it was measured.
    """
    sweeps: dict[tuple[str, str], list[Desk]] = {}
    for desk in desks:
        if desk.case.sweep:
            sweeps.setdefault((desk.group, desk.case.sweep), []).append(desk)
    return [fit for key, found in sweeps.items() for fit in _fits_of(*key, found)]


def _fits_of(group: str, name: str, desks: Sequence[Desk]) -> list[FitRecord]:
    over = desks[0].case.over
    sizes = [float(desk.case.parameters[over]) for desk in desks]
    targets = {(target.form, str(target.kind)): target for target in desks[0].case.targets}
    out = []
    for form in dict.fromkeys(form for desk in desks for form in desk.forms):
        if not all(form in desk.forms for desk in desks):
            continue
        seconds = [desk.forms[form].seconds for desk in desks]
        added = [[[float(max(each, 1))] for each in desk.forms[form].added] for desk in desks]
        for what, kind, values in (("seconds", "exponent", seconds), ("memory", "memory-exponent", added)):
            value = _interval(exponents(sizes, values))
            if value is None:
                continue
            target = targets.get((form, kind))
            out.append(
                FitRecord(
                    group=group,
                    sweep=name,
                    over=over,
                    form=form,
                    what="seconds" if what == "seconds" else "memory",
                    exponent=value,
                    sizes=sizes,
                    target=judged(target, value) if target else None,
                )
            )
    return out


def _interval(passes: Sequence[Sequence[float]]) -> Interval | None:
    kept = [values for values in passes if len(values) > 0]
    return median_interval(kept) if kept else None


def medians(record: CaseRecord) -> Mapping[str, float]:
    """Median seconds of one call by form. Of the forms that were timed."""
    return {
        form.name: float(np.median([np.median(values) for values in form.samples if values]))
        for form in record.forms
        if any(form.samples)
    }
