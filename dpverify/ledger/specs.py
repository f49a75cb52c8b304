"""Loaded papers with their claims, and the selection of claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from dpverify.ledger.chapters import Chapter
from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.errors import UnknownClaim, shown, suggest
from dpverify.ledger.formula import Formula
from dpverify.ledger.records import PaperInfo, Quotation, RelationToDerived
from dpverify.ledger.vocabulary import Vocabulary

OUTSIDE = " (for your own paper, work below the folder of its pyproject.toml, install it, or pass --specs)"


@dataclass(frozen=True, eq=False)
class PaperSpec:
    """A paper: its vocabulary, its claims by id (without the paper, in the order of the file), and our chapters."""

    info: PaperInfo
    vocabulary: Vocabulary
    claims: dict[str, ClaimSpec]
    chapters: tuple[Chapter, ...] = ()
    # whether a refuted, inconclusive or untested claim without a verdict fails a run
    strict_pins: bool = False


@dataclass(frozen=True, eq=False)
class Specs:
    """All papers of a specs folder, in alphabetical order of their keys."""

    directory: Path
    papers: dict[str, PaperSpec]

    def claims(self, paper: str | None = None) -> Iterator[ClaimSpec]:
        """Yield the claims of one paper or of all papers; raises `UnknownClaim` for an unknown paper."""
        if paper is not None and paper not in self.papers:
            rule = f"unknown paper{suggest(paper, self.papers)}; known papers are {', '.join(self.papers)}{OUTSIDE}"
            raise UnknownClaim(str(self.directory), "", "paper", shown(paper), rule)
        for key, spec in self.papers.items():
            if paper in (None, key):
                yield from spec.claims.values()

    def claim(self, key: str) -> ClaimSpec:
        """Return a claim by its full id (``"tran2022:lemma-12"``); raises `UnknownClaim`, with the nearest ids."""
        paper, _, name = key.partition(":")
        if paper not in self.papers or name not in self.papers[paper].claims:
            raise self._unknown(key, None)
        return self.papers[paper].claims[name]

    def select(
        self, patterns: Sequence[str] = (), paper: str | None = None
    ) -> list[ClaimSpec]:
        """Return the claims that match some patterns, in file order; all claims if there are no patterns.

        A pattern is a full id, an id without the paper that only one paper has, or a glob for either form.
        """
        candidates = list(self.claims(paper))
        if not patterns:
            return candidates
        picked: set[str] = set()
        for pattern in patterns:
            fitting = [c.key for c in candidates if pattern in (c.key, c.record.id)]
            if len(fitting) > 1:
                rule = (
                    f"several papers have this claim; say which: {', '.join(fitting)}"
                )
                raise UnknownClaim(
                    str(self.directory), "", "claim", shown(pattern), rule
                )
            fitting = fitting or [
                c.key
                for c in candidates
                if fnmatchcase(c.key, pattern) or fnmatchcase(c.record.id, pattern)
            ]
            if not fitting:
                raise self._unknown(pattern, paper)
            picked.update(fitting)
        return [c for c in candidates if c.key in picked]

    def uses(self) -> dict[str, tuple[str, ...]]:
        """Return the graph of uses: full id of a claim -> full ids of the claims that it uses."""
        return {claim.key: claim.uses for claim in self.claims()}

    def _unknown(self, pattern: str, paper: str | None) -> UnknownClaim:
        """Make the error for a claim that does not exist."""
        names = [
            name
            for claim in self.claims(paper)
            for name in (claim.key, claim.record.id)
        ]
        prefix = pattern.partition(":")[0]
        unread = (
            f"; no paper {prefix} is known here{OUTSIDE}"
            if ":" in pattern and prefix not in self.papers
            else ""
        )
        rule = f"unknown claim{suggest(pattern, names)}{unread}"
        return UnknownClaim(str(self.directory), "", "claim", shown(pattern), rule)


@dataclass(frozen=True)
class ComparedQuotation:
    """A statement about another paper, with both formulas in the letters of the quoting paper."""

    claim: ClaimSpec
    quoted: ClaimSpec
    quotation: Quotation
    # the formula that the other paper prints according to the claim
    attributed: Formula | None
    printed: Formula | None  # the formula that the other paper prints
    relation: RelationToDerived | None  # None if one of the two is in words


def several_claims(claims: Sequence[ClaimSpec], name_limit: int = 5) -> str:
    """Name several claims in a message: their number and the first ones."""
    names = ", ".join(claim.key for claim in claims[:name_limit])
    remainder = (
        f" and {len(claims) - name_limit} more" if len(claims) > name_limit else ""
    )
    return f"{len(claims)} claims: {names}{remainder}"
