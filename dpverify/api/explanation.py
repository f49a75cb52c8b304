"""The explanation of one claim as text, as ``dpverify explain`` prints it, from the recorded run."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.api.recorded_verdicts import recorded_run_of_claim
from dpverify.ledger import ClaimSpec, Specs, load_specs
from dpverify.ledger.errors import shown
from dpverify.ledger.specs import several_claims

if TYPE_CHECKING:
    from rich.console import Console

    from dpverify.report.explain import Explained

WIDTH = 100  # columns of the text


@dataclass(frozen=True, repr=False)
class Explanation:
    """An explanation of a claim: print it, or end a notebook cell with it.

    Examples
    --------
    >>> import dpverify as dv
    >>> explanation = dv.explain("tran2022:lemma-12")
    >>> explanation
    <Explanation of tran2022:lemma-12: print it to read it>
    >>> "Lemma 12" in str(explanation)
    True
    """

    claim: str
    explained: Explained
    full: bool = False

    def __repr__(self) -> str:
        return f"<Explanation of {self.claim}: print it to read it>"

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH) -> str:
        """The explanation as plain text of at most ``width`` columns."""
        lines = self._printed(width).export_text().splitlines()
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        style = "white-space: pre-wrap; font-family: monospace"
        return self._printed(WIDTH).export_html(inline_styles=True, code_format=f'<pre style="{style}">{{code}}</pre>')

    def _printed(self, width: int) -> Console:
        """Return a console that holds the output of ``dpverify explain``."""
        from rich.console import Console

        from dpverify.report.explain import print_explained

        file = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        console = Console(
            file=file, record=True, width=width, force_terminal=True, force_jupyter=False, color_system="truecolor"
        )
        print_explained(self.explained, console, full=self.full)
        return console


def explain(
    claim: str, *, full: bool = False, specs: Path | str | Specs | None = None, report: Path | str | None = None
) -> Explanation:
    """Explain one claim: what the paper prints, the verdict, what holds instead, and the recorded evidence.

    Nothing is run, and the evidence is not compared with the code of today; ``dpverify explain`` on the command line
    says so if the code has changed since.

    Parameters
    ----------
    claim : str
        Full id, such as "tran2022:lemma-12", or an id that only one paper has.
    full : bool, default False
        Whether to show all findings, symbols, conditions, derivations and checks, not one or two screens.
    specs : pathlib.Path, str or Specs, optional
        Folder of specs, or specs already loaded; the bundled ones by default.
    report : pathlib.Path or str, optional
        Folder that ``dpverify verify --report`` wrote; by default the report that comes with dpverify.

    Returns
    -------
    Explanation
        ``print`` shows it as text, a notebook as HTML.

    Raises
    ------
    UnknownClaim
        If there is no such claim.
    ValueError
        If a pattern fits several claims.

    Examples
    --------
    >>> import dpverify as dv
    >>> text = str(dv.explain("tran2022:theorem-4-dp"))
    >>> "refuted" in text
    True
    >>> len(text) < len(str(dv.explain("tran2022:theorem-4-dp", full=True)))
    True
    """
    from dpverify.report.explain import Explained

    loaded = specs if isinstance(specs, Specs) else load_specs(specs)
    spec = single_claim(loaded, claim)
    run = recorded_run_of_claim(spec, report)
    results = run.results if run else ()
    explained = Explained(paper=loaded.papers[spec.paper].info, spec=spec, results=results)
    return Explanation(spec.key, explained, full)


def single_claim(specs: Specs, claim: str) -> ClaimSpec:
    """Return one claim. If a pattern matches several claims, a ValueError names them."""
    matches = specs.select((claim,))
    if len(matches) != 1:
        raise ValueError(f"claim must name one claim, got claim={shown(claim)}, which names {several_claims(matches)}.")
    return matches[0]
