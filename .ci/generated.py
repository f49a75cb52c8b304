"""What is generated in this repository: compare it with what it is made from, or make it anew with ``--write``.

reports/ and the marked parts of README.md are made from reports/data/*.json,
specs/*/chapters.toml and specs/findings.toml. The example in README.md is the output of
its command. specs/notation.md is made from specs/*/claims.toml, and
dpverify/papers/index.json from the files that register checks.

The data in reports/data come from runs (``dpverify verify --budget standard --report reports``, ``dpverify compare ...
--report reports``, ``dpverify bench --report reports``). They are only compared: the record and the code that a verdict
rests on must be those of today.
"""

from __future__ import annotations

import math
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from dpverify.bench.report.page import check_bench, regenerate_bench
from dpverify.compare.experiments.page import EXPERIMENTS_PAGE
from dpverify.compare.page import COMPARISON_PAGE
from dpverify.conform.peers.coverage_page import AUDITORS_PAGE
from dpverify.conform.peers.page import PEERS_PAGE
from dpverify.harness.run.registry import Index, index_text, made_index
from dpverify.harness.run.suite import Suite
from dpverify.kernels.check import ArgumentError
from dpverify.ledger import SpecError, load_specs, notation_markdown
from dpverify.ledger.errors import Problems
from dpverify.ledger.load import read_specs
from dpverify.ledger.specs import Specs
from dpverify.papers import INDEX, index, packages
from dpverify.report.collect import ReportError, reading_key, stale
from dpverify.report.pages.layout import lay_out
from dpverify.report.pages.repository import (
    example_block,
    example_command,
    findings_block,
    papers_block,
    quotations_page,
    read_front_page,
    recorded,
    with_block,
)
from dpverify.report.pages.write import check, regenerate
from dpverify.selftest.check_pages import RATES_PAGE, SEARCH_PAGE
from dpverify.selftest.pages import MUTANTS_PAGE, SELFTEST_PAGE
from dpverify.symbolic.automatic.quotations import compared_quotations

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "reports"
README = ROOT / "README.md"
SPECS = ROOT / "specs"
NOTATION = SPECS / "notation.md"
QUOTATIONS = ROOT / "docs" / "about-each-other.md"
OUTSIDE = {
    key: Path("examples", key, key, "specs", key) for key in ("abadi2016", "arora2023")
}
"""Papers in docs/examples, with the folders of their records. Those with a recorded run have pages in reports/."""
RECORDED_PAGES = (
    COMPARISON_PAGE,
    EXPERIMENTS_PAGE,
    SELFTEST_PAGE,
    SEARCH_PAGE,
    RATES_PAGE,
    MUTANTS_PAGE,
    PEERS_PAGE,
    AUDITORS_PAGE,
)
CLOSE = 1.25
"""Factor within which the recorded seconds of a search must be what all checks leave for it; they stay until then."""


def index_of_checks() -> Index:
    """What each file with checks judges, and the seconds of a search, which follow from what all checks declare."""
    specs, recorded_seconds, seconds = load_specs(SPECS), index().search_seconds, {}
    for budget in ("smoke", "standard", "full"):
        shares, before = (
            Suite(specs, budget, seed=0).computed_shares(),
            recorded_seconds.get(budget, 0.0),
        )
        if shares.whole != math.inf:
            raise SystemExit(
                f"all checks must fit into the {budget} budget: declare less, or raise the budget"
            )
        stays = before / CLOSE <= shares.divisible <= before * CLOSE
        seconds[budget] = before if stays else shares.divisible
    return made_index(packages(), seconds)


def pages() -> dict[Path, str]:
    """Generated pages outside reports/, with the text they should have."""
    return {
        README: readme(README.read_text(encoding="utf-8")),
        INDEX: index_text(index_of_checks()),
        NOTATION: notation_markdown(load_specs(SPECS)),
        QUOTATIONS: quotations(),
    }


@cache
def all_specs() -> Specs:
    """The bundled papers and those of docs/examples."""
    return read_specs(
        SPECS,
        Problems(),
        {key: QUOTATIONS.parent / folder for key, folder in OUTSIDE.items()},
    )


def quotations() -> str:
    """The page of what papers say about each other: the bundled ones, and those of docs/examples."""
    specs = all_specs()
    targets = {
        key: f"{folder.as_posix()}/claims.toml" for key, folder in OUTSIDE.items()
    }
    for key, run in recorded(REPORTS).items():
        places = replace(
            lay_out(key, run).places(run), here="README.md", folder="../reports/"
        )
        targets |= {key: f"../reports/{key}.md"} | {
            claim: places.target(claim) for claim in places.pages
        }
    return quotations_page(compared_quotations(specs), specs, targets)


def readme(text: str) -> str:
    """Fill in the marked parts of README.md: the example, the papers and the findings."""
    page = read_front_page(SPECS)
    runs = recorded(REPORTS)
    papers = load_specs(SPECS).papers
    text = with_block(text, "papers", papers_block(page, runs, papers))
    text = with_block(text, "findings", findings_block(page, runs, papers))
    command = example_command(text)
    return with_block(text, "example", example_block(command, output_of(command)))


def output_of(command: str) -> str:
    """What a dpverify command prints in a terminal of 80 columns without colours."""
    program, *arguments = shlex.split(command)
    if program != "dpverify":
        raise ReportError(f"{command}: the example must be a dpverify command")
    environment = {
        **os.environ,
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "PYTHONPATH": str(ROOT),
    }
    process = [sys.executable, "-m", "dpverify", *arguments]
    done = subprocess.run(
        process, env=environment, cwd=ROOT, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise ReportError(
            f"{command}: exit code {done.returncode}: {' '.join(done.stderr.split())}"
        )
    return done.stdout


def differ() -> Iterator[str]:
    """Files that are not what their sources give."""
    yield from (f"reports/{name}" for name in check(REPORTS, all_specs().papers))
    others = (check_bench, *(page.check for page in RECORDED_PAGES))
    yield from (
        f"reports/{name}" for check_page in others for name in check_page(REPORTS)
    )
    for path, text in pages().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            yield str(path.relative_to(ROOT))


def not_fresh() -> Iterator[str]:
    """Verdicts that rest on a record or on code that has changed since."""
    specs = all_specs()
    suite = Suite(specs, "standard", seed=0)
    runs = recorded(REPORTS)
    for key in specs.papers:
        if key in OUTSIDE and key not in runs:
            continue
        hashes = {
            (case.claim.key, reading_key(case.reading)): (
                case.claim.record_hash,
                case.evidence_hash,
            )
            for claim in specs.claims(key)
            for case in suite.cases(claim)
        }
        if key in runs:
            yield from map(str, stale(runs[key], hashes))
        else:
            yield f"{key}: no run is recorded"


def main() -> int:
    """Compare, or write; 1 where something differs."""
    wrong = []
    try:
        if "--write" in sys.argv[1:]:
            regenerate_bench(REPORTS)
            for page in RECORDED_PAGES:
                page.regenerate(REPORTS)
            regenerate(REPORTS, all_specs().papers)
            for path, text in pages().items():
                path.write_text(text, encoding="utf-8")
        wrong += [
            f"{name}: not what it is generated from; run .ci/generated.py --write"
            for name in differ()
        ]
    except (ReportError, ArgumentError, SpecError) as error:
        wrong.append(f"reports: nothing can be made of the data: {error}")
    renew = "dpverify verify --budget standard --seed commit --report reports --renew"
    outside = "the same with --paper KEY, and the paths as they are there, for a paper of docs/examples in its folder"
    wrong += [f"reports/data: {line}; run {renew} ({outside})" for line in not_fresh()]
    print(
        "\n".join(wrong)
        or "all generated files are as their sources give them, and the evidence is today's"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
