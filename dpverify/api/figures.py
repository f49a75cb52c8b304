"""The figures of a claim, drawn from the recorded run."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.api.explanation import single_claim
from dpverify.api.recorded_verdicts import recorded_run_of_claim
from dpverify.ledger import Specs, load_specs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpverify.report.collect import Picture


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
        Name of the figure where a claim has several; by default its first one. An unknown name raises an error that
        lists the names.
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
    spec.complete(reading)  # complains of an unknown reading
    from dpverify.report.collect import pictures
    from dpverify.report.pages.figures import caption, draw

    run = recorded_run_of_claim(spec, report)
    chosen = (result for result in (run.results if run else ()) if reading.items() <= result.reading.items())
    drawings = [picture for result in chosen for picture in pictures(result)]
    if not drawings:
        raise ValueError(f"the recorded run has no figure of {spec.key}.")
    picture = next(_named(drawings, name), None)
    if picture is None:
        names = ", ".join(dict.fromkeys(picture.name for picture in drawings))
        raise ValueError(f"name must be one of {names}, got name={name!r}.")
    drawn = draw(picture.name, picture.columns)
    drawn.set_label(caption(picture.name, picture.columns))
    # A notebook calls this. Without it, a notebook shows figures of pyplot only.
    vars(drawn)["_repr_svg_"] = partial(_as_svg, drawn)
    return drawn


def _as_svg(drawn: Figure) -> str:
    """A figure as SVG, as the report has it."""
    from dpverify.report.style import to_svg

    return to_svg(lambda: drawn, str(drawn.get_label())).decode()


def _named(pictures: list[Picture], name: str | None) -> Iterator[Picture]:
    return (picture for picture in pictures if name in (None, picture.name))
