"""``dpverify site``: build static web pages of reports, claims, guides and API."""

from __future__ import annotations

from pathlib import Path

from dpverify.cli.output import OK, BadInput, check_folder, complain

FAULTY = 1  # exit code if Sphinx warns


def site(
    *,
    out: Path,
    report: Path | None = None,
    specs: Path | None = None,
    checks: str | None = None,
) -> int:
    """Build static web pages: reports, claims with their code, guides and API.

    The pages need no network. Building them needs the extra site: pip install -e
    '.[site]' in a checkout. The exit code is 1 if Sphinx warns.

    Parameters
    ----------
    out
        Folder for the pages.
    report
        Folder that holds a report. Default: the run that comes with dpverify.
    specs
        Folder with one folder of records per paper. Default: the records that come with
        dpverify.
    checks
        Package with the checks of the papers. Default: the checks that come with
        dpverify.
    """
    from importlib.util import find_spec

    if missing := [
        name
        for name in ("sphinx", "myst_parser", "furo", "latex2mathml")
        if find_spec(name) is None
    ]:
        raise BadInput(
            "dpverify site",
            f"without {', '.join(missing)}",
            "install the extra: pip install -e '.[site]' in a checkout",
        )
    check_folder("--out", out)
    from dpverify.cli.app import build
    from dpverify.harness.run.sources import PAPERS
    from dpverify.ledger import load_specs
    from dpverify.ledger.load import bundled
    from dpverify.site.build import build_site

    commands = build().generate_docs(output_format="markdown")
    from dpverify.report.collect import ReportError

    reports = bundled("reports") if report is None else report
    try:
        warnings = build_site(
            out, reports, load_specs(specs), commands, checks or PAPERS
        )
    except ReportError as error:
        raise BadInput("dpverify site", f"--out {out}", str(error)) from error
    for line in warnings:
        complain(line)
    print(f"wrote {out / 'README.html'}")
    return FAULTY if warnings else OK
