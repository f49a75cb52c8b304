"""Which page of a report holds which claim, and how one page links to another."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dpverify.ledger.results import Result
from dpverify.report import markdown as md
from dpverify.report.collect import claim_id

INDEX = "README.md"  # the first page of the folder

OTHERS: Mapping[str, str] = {  # pages of the folder that are made of other data than verdicts, with what they are about
    "comparison": "optimizers compared on data, at equal privacy",
    "benchmarks": "benchmarks",
}


def other_links(names: Sequence[str]) -> str:
    """Links to pages of :data:`OTHERS`, from a page that lies beside them; a name that is none of them is left out."""
    return ", ".join(md.link(words, f"{name}.md") for name, words in OTHERS.items() if name in names)


@dataclass(frozen=True)
class Places:
    """Where the sections of claims are, seen from one page."""

    # Full id of a claim to the page that holds it, as a path below the report's folder with forward slashes. A claim
    # that is not in it is on the page that links.
    pages: Mapping[str, str]
    here: str = INDEX  # the page that links stand on, as such a path
    folder: str = ""  # the report's folder with a slash behind it, for a page beside the folder; "" for a page inside

    def on(self, page: str) -> Places:
        """The same places, seen from another page."""
        return replace(self, here=page)

    def page(self, file: str) -> str:
        """A link's target for a file of the report. Relative path from the page at hand."""
        return self.folder + posixpath.relpath(file, posixpath.dirname(self.here) or ".")

    def target(self, claim: str) -> str:
        """A link's target for a claim's section, ``lemma-12.md#lemma-12``; without the page where it is this one."""
        file = self.pages.get(claim, self.here)
        anchor = f"#{claim.partition(':')[2]}"
        return anchor if file == self.here and not self.folder else self.page(file) + anchor

    def link(self, result: Result, text: str = "") -> str:
        """A link to a claim's section, with its id as text unless another is given."""
        return md.link(md.code(text or claim_id(result)), self.target(result.claim))
