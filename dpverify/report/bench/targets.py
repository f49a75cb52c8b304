"""The result of the page on speed: which targets are met, group by group, then each with what was measured."""

from __future__ import annotations

from collections.abc import Iterator

from dpverify.report import markdown as md
from dpverify.report.bench.records import AimRecord, Bench, CaseRecord, FitRecord, TargetRecord
from dpverify.report.bench.words import MARKS, about, show_interval, show_parameters, show_sizes, show_target
from dpverify.report.words import plural

MOST = 12
"""Targets that were not measured are listed one by one up to so many, else counted by group."""

Judged = CaseRecord | FitRecord
"""What a target is of."""


def all_targets(bench: Bench) -> Iterator[tuple[Judged, TargetRecord]]:
    """Every target with what it is of: a case, or the fit of a sweep."""
    for group in bench.groups:
        for case in bench.cases:
            yield from ((case, target) for target in case.targets if case.group == group)
        for fit in bench.fits:
            if fit.target is not None and fit.group == group:
                yield fit, fit.target


def not_measured(bench: Bench) -> list[AimRecord]:
    """Targets that there are and that the run has nothing of."""
    here = {
        (of.group, of.name if isinstance(of, CaseRecord) else of.sweep, target.form, target.kind, target.to)
        for of, target in all_targets(bench)
    }
    return [
        aim for aim in bench.aims if (aim.group, aim.name, aim.target.form, aim.target.kind, aim.target.to) not in here
    ]


def result(bench: Bench) -> Iterator[str]:
    """How many targets are met, those that are not, and what is closest to its bound in each group."""
    yield from _of_measured(bench)
    missing = not_measured(bench)
    rest = [
        f"{md.prose(aim.name)} ({aim.group}): {md.prose(about(aim.target))}, {md.prose(show_target(aim.target))}"
        for aim in missing
    ]
    if len(rest) > MOST:
        groups = [aim.group for aim in missing]
        counts = ", ".join(f"{groups.count(group)} of {group}" for group in dict.fromkeys(groups))
        yield f"**{len(rest)} more targets not measured** in what is recorded here: {counts}."
    elif rest:
        yield f"**{plural(len(rest), 'more target')} not measured** in what is recorded here:\n\n{md.bullets(rest)}"


def _of_measured(bench: Bench) -> Iterator[str]:
    found = list(all_targets(bench))
    if not found:
        yield "No case that was measured has a target."
        return
    outcomes = [target.outcome for _, target in found]
    told = [f"{outcomes.count(word)} {word}" for word in MARKS if word in outcomes]
    rest = [
        f"{_name(of)} ({of.group}): {md.prose(_with_sizes(of, target))}, {md.prose(show_target(target))}, "
        f"is {show_interval(target.value, target.kind) or 'not known'}: {target.outcome}"
        for of, target in found
        if target.outcome != "met"
    ]
    total = f"**{plural(len(outcomes), 'target')}: {', '.join(told)}.**"
    yield f"{total} Not met:\n\n{md.bullets(rest)}" if rest else total
    yield md.table(
        ["group", "targets met", "closest to its bound, or farthest beyond", "target", "measured (interval)"],
        _groups(bench),
    )


def _groups(bench: Bench) -> Iterator[list[str]]:
    for name, title in bench.groups.items():
        here = [(of, target) for of, target in all_targets(bench) if of.group == name]
        if not here:
            continue
        met = sum(target.outcome == "met" for _, target in here)
        of, target = max(here, key=lambda each: share_of_bound(each[1]))
        yield [
            md.link(md.prose(title or name), f"#{name}"),
            f"{met} of {len(here)}",
            f"{_name(of)}: {md.prose(_with_sizes(of, target))}",
            md.prose(show_target(target)),
            show_interval(target.value, target.kind),
        ]


def share_of_bound(target: TargetRecord) -> float:
    """How much of its bound is used up: 1 at the bound, more beyond it, 0 where nothing was measured."""
    if target.value is None:
        return 0.0
    if target.at_least is not None:
        return target.at_least / max(target.value.median, 1e-300)
    return target.value.median / target.at_most if target.at_most else 0.0


def targets_table(bench: Bench) -> str:
    """Each target with what was measured of it, and over how many passes."""
    rows = []
    titles = {(case.group, case.sweep): case.title for case in bench.cases if case.sweep}
    for of, target in all_targets(bench):
        if isinstance(of, CaseRecord):
            title, detail = of.title, show_parameters(of)
        else:
            title, detail = titles.get((of.group, of.sweep), of.sweep), show_sizes(of)
        rows.append(
            [
                md.link(md.prose(title), f"#{of.group}") + (f"\n{md.prose(detail)}" if detail else ""),
                md.prose(about(target)),
                md.prose(show_target(target)),
                show_interval(target.value, target.kind),
                "" if target.value is None else str(target.value.passes),
                MARKS[target.outcome],
            ]
        )
    return md.table(["case", "what", "target", "measured (interval)", "passes", ""], rows)


def _with_sizes(of: Judged, target: TargetRecord) -> str:
    """What a target is about; growth with the sizes that it is of."""
    return about(target) if isinstance(of, CaseRecord) else f"{about(target)} ({show_sizes(of)})"


def _name(of: Judged) -> str:
    return md.prose(of.name if isinstance(of, CaseRecord) else of.sweep)
