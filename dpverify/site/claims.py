"""A page for each claim with the code that judges it, and a table of all claims with filters.

The code of a claim is its checks, kernels and bounds. Each module has a page with its source.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from dpverify.harness.evidence.hashes import imported_names
from dpverify.harness.run.sources import PAPERS, load_checks
from dpverify.ledger.check_results import AmendmentResult
from dpverify.ledger.results import Result, Run
from dpverify.ledger.specs import PaperSpec, Specs
from dpverify.report import markdown as md
from dpverify.report.collect import by_claim, claim_id, ordered_runs
from dpverify.report.pages.layout import Places, lay_out
from dpverify.report.pages.proofs import PAGE as PROOFS
from dpverify.report.pages.proofs import ProofPage, proof_book
from dpverify.report.pages.rules import PAGE as RULES
from dpverify.report.pages.rules import ProofLines
from dpverify.report.pages.templates import claim_section
from dpverify.report.statements import readings_block
from dpverify.report.words import MARKS, instead_words, kind_words, reading_words
from dpverify.site.needs import certificate_of, needs_of

# module to the names imported from it; no names if the whole module is imported
Names = dict[str, list[str]]

FOLDER = "source"


def code_of(claim: str, source: str = PAPERS) -> dict[str, Names]:
    """Return the code behind a claim (given by its full id): its checks, and the kernels and bounds that they import.

    ``source`` is the package with the checks of the papers.
    """
    paper, _, name = claim.partition(":")
    loaded = load_checks(source, paper)
    judges = (
        list(dict.fromkeys(entry.place.module for entry in loaded.entries(name)))
        if loaded
        else []
    )
    package = loaded.module if loaded else ""
    checks: Names = {module: [] for module in judges}
    code_by_title: dict[str, Names] = {
        "Checks": checks,
        "Kernels": {},
        "Bounds and derivations": {},
    }
    todo = list(judges)
    while todo:
        for home, imported in imported_names(todo.pop()):
            if not _is_inside(home, package):
                continue
            if ".checks" in home:
                if home not in checks:
                    checks[home] = []
                    todo.append(home)
                continue
            kernel = ".algorithms" in home or ".accounting.algorithm" in home
            names = code_by_title[
                "Kernels" if kernel else "Bounds and derivations"
            ].setdefault(home, [])
            if imported and imported not in names:
                names.append(imported)
    return {
        title: dict(sorted(modules.items()))
        for title, modules in code_by_title.items()
        if modules
    }


def code_block(code: Mapping[str, Names], up: str) -> str:
    """Return the links to the code behind a claim as markdown; ``up`` is the path from the page to the site's root."""
    return "\n\n".join(
        f"{title}:\n\n"
        + md.bullets(_links(module, names, up) for module, names in modules.items())
        for title, modules in code.items()
    )


def _links(module: str, names: Sequence[str], up: str) -> str:
    page = f"{up}{page_of(module)}"
    short = md.code(module.removeprefix("dpverify.papers."))
    links = ", ".join(
        md.link(md.code(name), f"{page}#{name}") for name in sorted(names)
    )
    return md.link(short, page) + (f": {links}" if links else "")


def page_of(module: str) -> str:
    """Return the path of the page with a module's source, below the site's root."""
    return f"{FOLDER}/{module.replace('.', '/')}.md"


@cache
def source_page(module: str) -> str:
    """Return a module's source as markdown, with a heading for each function and class, and with line numbers."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ValueError(f"module must have Python source, got module={module!r}.")
    lines = Path(spec.origin).read_text(encoding="utf-8").splitlines()
    return md.document(
        [
            "---\norphan: true\nnosearch: true\n---",
            f"# {md.code(module)}",
            *_pieces(lines),
        ]
    )


def _pieces(lines: Sequence[str]) -> Iterator[str]:
    """Yield the pieces of a source, cut before each function and class, with headings and anchors."""
    start = 0
    for node in ast.parse("\n".join(lines)).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = (
                min(
                    [
                        node.lineno,
                        *(decorator.lineno for decorator in node.decorator_list),
                    ]
                )
                - 1
            )
            yield _piece(lines, start, first)
            yield f"{md.anchor(node.name)}\n\n## {md.code(node.name)}"
            yield _piece(lines, first, node.end_lineno or first)
            start = node.end_lineno or first
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            names = [
                name.id
                for name in ast.walk(node)
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
            ]
            yield _piece(lines, start, node.lineno - 1)
            yield "\n".join(map(md.anchor, names))
            start = node.lineno - 1
    yield _piece(lines, start, len(lines))


def _piece(lines: Sequence[str], start: int, end: int) -> str:
    while start < end and not lines[start].strip():
        start += 1
    text = "\n".join(lines[start:end]).rstrip()
    fence = "`" * max(6, 1 + max(map(len, re.findall("`+", text)), default=0))
    return (
        f"{fence}{{code-block}} python\n:lineno-start: {start + 1}\n\n{text}\n{fence}"
        if text
        else ""
    )


def _is_inside(module: str, package: str) -> bool:
    return module.startswith(f"{package}.")


TABLE = "claims/README.md"
ROOT = "../../"  # from the page of a claim to the site's root


VARIANTS = {
    "printed": "Proof of the printed statement",
    "amended": "Proof of the corrected statement",
    "held": "Proof of the statement where it holds",
}
HOW_TO_READ = (
    "Each line names the reason why it follows from the line above. A line without a reason follows by algebra, or by "
    "a comparison with the conditions. After *needs* are the conditions of the rule, lemma or claim at this line, and "
    "after *by* the condition or case that shows them. Conditions that the signs of the letters show are left out. "
    "A condition without *by* follows from several conditions. The certificate has the steps."
)


def claim_pages(
    runs: Mapping[str, Run],
    specs: Specs,
    checks: str = PAPERS,
    certificates: Path | None = None,
) -> dict[str, str]:
    """Return the table, a page for each claim, and pages with the source of their code, as path to text.

    ``checks`` is the package with the checks of the papers, and ``certificates`` is the folder of the certificates.
    """
    used_by: dict[str, list[str]] = {}
    for claim, uses in specs.uses().items():
        for used in uses:
            used_by.setdefault(used, []).append(claim)
    judged = {result.claim for run in runs.values() for result in run.results}
    pages = {
        TABLE: _table(
            [result for run in ordered_runs(runs).values() for result in run.results]
        )
    }
    for key, run in runs.items():
        places = lay_out(key, run).places(run)
        proofs = _proof_page(specs.papers.get(key), judged)
        for group in by_claim(run.results):
            claim = group[0].claim
            code = code_of(claim, checks)
            pages |= {
                page_of(module): source_page(module)
                for modules in code.values()
                for module in modules
            }
            around = {
                "Rests on": specs.uses().get(claim, ()),
                "Used by": used_by.get(claim, ()),
            }
            links = [
                f"{word}: {', '.join(md.link(md.code(key), _page(key, '../')) for key in related if key in judged)}."
                for word, related in around.items()
                if judged.intersection(related)
            ]
            report = f"{ROOT}reports/{places.pages[claim]}#{claim_id(group[0])}"
            pages[_page(claim, "claims/")] = md.document(
                [
                    "---\norphan: true\n---",
                    f"# {md.code(claim)}",
                    f"[All claims](../README.md) · [In the report]({report})",
                    readings_block(group),
                    claim_section(group, run.run.budget, f"{ROOT}reports/figures", ()),
                    *_proofs(claim, proofs, certificates),
                    "## Code",
                    code_block(code, ROOT) or "No check is written for it.",
                    "## Related claims" if links else "",
                    "\n\n".join(links),
                ]
            )
    return pages


def _proof_page(paper: PaperSpec | None, judged: Collection[str]) -> ProofPage | None:
    """Return the typesetter of a paper's proofs for the pages of its claims."""
    if paper is None:
        return None
    key = paper.info.key
    places = Places({claim: f"{claim.partition(':')[2]}.md" for claim in judged})
    lines = ProofLines(
        key,
        proof_book(paper),
        places,
        f"{ROOT}reports/{RULES}",
        f"{ROOT}reports/{key}/{PROOFS}",
    )
    return ProofPage(lines, paper.claims)


def _proofs(
    claim: str, page: ProofPage | None, certificates: Path | None
) -> Iterator[str]:
    """Yield the proofs of a claim, with the side conditions of each line."""
    proofs = () if page is None else page.book.proofs_of(claim.partition(":")[2])
    if page is None or not proofs:
        return
    yield f"## {'Proof' if len(proofs) == 1 else 'Proofs'}"
    yield HOW_TO_READ
    for proof in proofs:
        choices = "".join(
            f", {name} = {value}" for name, value in proof.reading.items()
        )
        certificate = (
            None
            if certificates is None
            else certificate_of(certificates, page.lines.key, proof)
        )
        needs = {} if certificate is None else needs_of(certificate, proof, page.lines)
        yield f"### {VARIANTS[proof.variant]}{choices}"
        yield from replace(page, lines=replace(page.lines, needs=needs)).alone(proof)


def _page(claim: str, folder: str) -> str:
    paper, _, name = claim.partition(":")
    return f"{folder}{paper}/{name}.md"


def _table(results: Sequence[Result]) -> str:
    header = ["claim", "paper", "where", "kind", "status", "severity", "corrected"]
    return md.document(
        [
            "# Claims",
            "Every claim with its verdict, one row for each reading of it. The filters work together.",
            '<form id="filters" aria-label="Filters"></form>',
            md.table(header, map(list, map(_row, results))),
        ]
    )


def _row(result: Result) -> Iterator[str]:
    paper, _, name = result.claim.partition(":")
    yield f"{md.link(md.code(name), _page(result.claim, ''))}\n{md.prose(reading_words(result.reading))}"
    yield paper
    yield md.prose(result.where)
    yield kind_words(result.kind)
    yield f"{MARKS[result.status]} {result.status}"
    yield result.severity or ""
    regime_words = f"{instead_words(result.holds)}\n" if result.holds else ""
    yield regime_words + (_correction(result.amendment) if result.amendment else "")


def _correction(amendment: AmendmentResult) -> str:
    """Return the status of a correction, or the condition of an amendment that only restates the claim."""
    if amendment.only_restates:
        return instead_words(amendment)
    return f"{MARKS[amendment.status]} {amendment.status}"
