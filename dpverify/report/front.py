"""The result on the first page of the repository: README.md holds it between two markers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from dpverify.ledger.results import Result, Run, decode
from dpverify.report import markdown as md
from dpverify.report.collect import ReportError, by_claim, by_paper, counterexamples
from dpverify.report.index import OVERVIEW
from dpverify.report.paper import title
from dpverify.report.summary import claim_link, corrected, counterexample_words
from dpverify.report.words import counts, counts_words, plural

BEGIN = "<!-- verdicts:begin -->"
END = "<!-- verdicts:end -->"


def front_block(runs: Mapping[str, Run], folder: str = "reports") -> str:
    """What came out, in a picture and a table.

    Parameters
    ----------
    runs : Mapping[str, Run]
        Paper key to its run.
    folder : str
        Where the report lies, seen from the page.

    Returns
    -------
    str
        Markdown: the figure of all verdicts, then per paper the totals and the printed claims that are false.
    """
    picture = f"![Verdicts of each paper, by status]({folder}/figures/{OVERVIEW})"
    blocks = [picture if runs else "No run is recorded yet."]
    for key, run in sorted(runs.items()):
        page = f"{folder}/{key}.md"
        claims = plural(len(by_claim(run.results)), "claim")
        totals = counts_words(counts(result.status for result in run.results))
        blocks.append(f"{md.link(title(key, run), page)}: {claims}, {plural(len(run.results), 'verdict')}: {totals}.")
        rows = list(_false_claims(run.results, page))
        if rows:
            blocks.append(md.table(["printed", "false, for example", "corrected"], rows))
    return "\n\n".join(blocks)


def with_front_block(text: str, block: str) -> str:
    """Put the block between the markers of a page.

    Parameters
    ----------
    text : str
        The page.
    block : str
        What :func:`front_block` gave.

    Returns
    -------
    str
        The page with the new block; the same text for the same block.

    Raises
    ------
    ReportError
        When the page does not hold each marker once, in order.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in before + after:
        raise ReportError(f"the page must hold {BEGIN} and then {END}, each once")
    return f"{before}{BEGIN}\n{block}\n{END}{after}"


def recorded(folder: Path) -> dict[str, Run]:
    """Read the runs that a report was made of.

    Parameters
    ----------
    folder : pathlib.Path
        The report, with ``data/*.json``.

    Returns
    -------
    dict[str, Run]
        Paper key to its run.

    Raises
    ------
    ReportError
        When a file is no run, or two are of one paper.
    """
    runs = []
    for path in sorted((folder / "data").glob("*.json")):
        try:
            runs.append(decode(path.read_bytes()))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ReportError(f"data/{path.name}: {' '.join(str(error).split())}") from error
    return by_paper(runs)


def _false_claims(results: Sequence[Result], page: str) -> Iterator[list[str]]:
    """One row per claim that is refuted under some reading."""
    for group in by_claim(results):
        refuted = [result for result in group if result.status == "refuted"]
        if not refuted:
            continue
        result = refuted[0]
        printed = md.inline_math(result.latex) or md.code(result.printed)
        examples = sorted(counterexamples(result), key=lambda example: example.kind != "interior")
        why = counterexample_words(examples[0]) if examples else md.prose(result.reason)
        status = f" ({result.amendment.status})" if result.amendment else ""
        link = claim_link(result, page)
        yield [f"{link}\n{printed}" if printed else link, why, f"{corrected(result)}{status}"]
