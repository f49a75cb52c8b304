"""The explanation of one claim as text, as printed by ``dpverify explain``, and its figures, from the recorded run."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.api.verdicts import recorded_run_of_claim
from dpverify.ledger import ClaimSpec, Specs, load_specs
from dpverify.ledger.errors import shown
from dpverify.ledger.specs import several_claims

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

    from dpverify.report.collect import Picture
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
        """Return the explanation as plain text of at most ``width`` columns."""
        lines = self._printed(width).export_text().splitlines()
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        style = "white-space: pre-wrap; font-family: monospace"
        return self._printed(WIDTH).export_html(
            inline_styles=True, code_format=f'<pre style="{style}">{{code}}</pre>'
        )

    def _printed(self, width: int) -> Console:
        """Return a console that holds the output of ``dpverify explain``."""
        from rich.console import Console

        from dpverify.report.explain import print_explained

        file = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        console = Console(
            file=file,
            record=True,
            width=width,
            force_terminal=True,
            force_jupyter=False,
            color_system="truecolor",
        )
        print_explained(self.explained, console, full=self.full)
        return console


def explain(
    claim: str,
    *,
    full: bool = False,
    specs: Path | str | Specs | None = None,
    report: Path | str | None = None,
) -> Explanation:
    """Explain one claim: what the paper prints, the verdict, what holds instead, and the recorded evidence.

    No check is run, and the evidence is not compared with the present code. The command
    ``dpverify explain`` reports whether the code has changed since.

    Parameters
    ----------
    claim : str
        Full id, such as "tran2022:lemma-12", or an id that only one paper has.
    full : bool, default False
        Whether to show all findings, symbols, conditions, derivations and checks,
        instead of one or two screens.
    specs : pathlib.Path, str or Specs, optional
        Folder of specs, or specs already loaded; by default the bundled specs.
    report : pathlib.Path or str, optional
        Folder that ``dpverify verify --report`` wrote; by default the report that comes
        with dpverify.

    Returns
    -------
    Explanation
        ``print`` shows it as text, a notebook as HTML.

    Raises
    ------
    UnknownClaim
        If there is no such claim.
    ValueError
        If a pattern matches several claims.

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
    explained = Explained(
        paper=loaded.papers[spec.paper].info, spec=spec, results=results
    )
    return Explanation(spec.key, explained, full)


def single_claim(specs: Specs, claim: str) -> ClaimSpec:
    """Return one claim. If a pattern matches several claims, a ValueError names them."""
    matches = specs.select((claim,))
    if len(matches) != 1:
        raise ValueError(
            f"claim must name one claim, got claim={shown(claim)}, which names {several_claims(matches)}."
        )
    return matches[0]


def figure(
    claim: str,
    name: str | None = None,
    *,
    specs: Path | str | Specs | None = None,
    report: Path | str | None = None,
    **reading: str,
) -> Figure:
    """Draw a figure of a claim from the recorded run.

    Parameters
    ----------
    claim : str
        Full id, such as "tran2022:lemma-12", or an id that only one paper has.
    name : str, optional
        Name of the figure if a claim has several; by default the first. The error for
        an unknown name lists the names.
    specs, report
        As for :func:`explain`.
    **reading
        Choices of the claim's readings, such as ``ordering="fresh"``.

    Returns
    -------
    matplotlib.figure.Figure
        Its label is the caption. Save it with ``figure.savefig``.

    Raises
    ------
    UnknownClaim
        If there is no such claim.
    ValueError
        If the recorded run has no such figure of the claim.

    Examples
    --------
    >>> import dpverify as dv
    >>> drawn = dv.figure("tran2022:lemma-12")
    >>> drawn.savefig("lemma-12.svg")  # doctest: +SKIP
    """
    loaded = specs if isinstance(specs, Specs) else load_specs(specs)
    spec = single_claim(loaded, claim)
    spec.complete(reading)  # raises an error for an unknown reading
    from dpverify.report.collect import pictures
    from dpverify.report.pages.figures import caption, draw

    run = recorded_run_of_claim(spec, report)
    chosen = (
        result
        for result in (run.results if run else ())
        if reading.items() <= result.reading.items()
    )
    drawings = [picture for result in chosen for picture in pictures(result)]
    if not drawings:
        raise ValueError(f"the recorded run has no figure of {spec.key}.")
    picture = next(_named(drawings, name), None)
    if picture is None:
        names = ", ".join(dict.fromkeys(picture.name for picture in drawings))
        raise ValueError(f"name must be one of {names}, got name={name!r}.")
    drawn = draw(picture.name, picture.columns)
    drawn.set_label(caption(picture.name, picture.columns))
    # Notebooks call this method. Without it, they show only figures of pyplot.
    vars(drawn)["_repr_svg_"] = partial(_as_svg, drawn)
    return drawn


def _as_svg(drawn: Figure) -> str:
    """Return a figure as SVG, as in the report."""
    from dpverify.report.style import to_svg

    return to_svg(lambda: drawn, str(drawn.get_label())).decode()


def _named(pictures: list[Picture], name: str | None) -> Iterator[Picture]:
    return (picture for picture in pictures if name in (None, picture.name))
