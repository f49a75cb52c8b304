"""Build the site: collect the repository's markdown, adapt it to MyST, and run Sphinx.

Fences in markdown from outside sources are never interpreted as directives.
"""

from __future__ import annotations

import io
import posixpath
import re
import tempfile
from collections.abc import Iterator, Mapping
from importlib.metadata import metadata
from pathlib import Path

from dpverify.harness.run.sources import PAPERS
from dpverify.ledger.load import bundled
from dpverify.ledger.specs import Specs
from dpverify.report import markdown as md
from dpverify.report.collect import ReportError, ordered_runs
from dpverify.report.files import is_generated
from dpverify.report.folder import FIGURES
from dpverify.report.pages.repository import recorded
from dpverify.report.pages.rules import PAGE as RULES
from dpverify.report.pages.rules import rules_page
from dpverify.report.pages.write import drawn_elsewhere, other_pages
from dpverify.report.pages.write import render_report as render
from dpverify.site.claims import TABLE, claim_pages
from dpverify.site.output import (
    FRONT_PAGE,
    START_PAGE,
    check_out,
    check_picture,
    publish,
)
from dpverify.symbolic.rules import CATALOGUE

_FENCE = re.compile(
    r"^(?P<fence>[ \t>\d.)*+-]*(?:`{3,}|~{3,}|:{3,}))(?P<info>[ \t]*(?:\\*\{|&)[^\n]*)$",
    re.MULTILINE,
)


def plain_fences(text: str) -> str:
    """Return markdown in which directives such as ``{include}`` are replaced by plain fences with the same content."""
    return _FENCE.sub(r"\g<fence>text", text)


PACKAGES = (
    "harness",
    "privacy",
    "problems",
    "symbolic",
    "ledger",
    "train",
    "compare",
    "calibrate",
)

_LINK = re.compile(
    r"(?<!!)\[(?P<text>(?:[^\[\]]|\\[\[\]])*)\]\((?P<target>[^()\s:#]+)(?P<anchor>#[^()\s]*)?\)"
)
_PATH = re.compile(r"(?:\w[\w.+-]*/)*\w[\w.+-]*", re.ASCII)
_MATH = re.compile(r"\$`(.+?)`\$")

CONFIG = {
    "project": "dpverify",
    "html_title": "dpverify",
    "root_doc": "README",
    "extensions": [
        "myst_parser",
        "sphinx.ext.autodoc",
        "sphinx.ext.napoleon",
        "dpverify.site.highlight",
        "dpverify.site.mathml",
        "dpverify.site.navigation",
        "dpverify.site.verdicts",
        "dpverify.site.safe",
    ],
    "myst_enable_extensions": ["dollarmath", "alert"],
    "myst_fence_as_directive": ["math"],
    "myst_heading_anchors": 4,
    "myst_disable_syntax": [
        "myst_role",
        "myst_line_comment",
        "myst_block_break",
        "myst_target",
    ],
    "myst_url_schemes": ["http", "https", "mailto"],
    "html_math_renderer": "mathml",
    "html_theme": "furo",
    "html_theme_options": {"navigation_with_keys": True},
    "templates_path": [str(Path(__file__).with_name("templates"))],
    "html_static_path": [str(Path(__file__).with_name("static"))],
    "html_favicon": str(Path(__file__).with_name("static") / "favicon.svg"),
    "html_css_files": ["site.css"],
    "html_js_files": ["claims.js"],
    "html_copy_source": False,
    "html_show_copyright": False,
    "html_codeblock_linenos_style": "table",
    "autodoc_typehints": "none",
    # types are prose, such as "array, shape (steps,)", and cannot be linked
    "napoleon_use_param": False,
    "napoleon_use_rtype": False,
    # No warnings about HTML anchors, which a test checks, or about pages whose first
    # heading is not of level 1.
    "suppress_warnings": ["myst.xref_missing", "myst.header"],
}


def build_site(
    out: Path, reports: Path, specs: Specs, commands: str, checks: str = PAPERS
) -> list[str]:
    """Write the site to a folder, and return the lines of Sphinx's warnings.

    ``commands`` is the page of the command line, and ``checks`` is the package with the checks of the papers.
    """
    from sphinx.application import Sphinx

    check_out(out)
    with tempfile.TemporaryDirectory() as work:
        source = Path(work) / "source"
        built = Path(work) / "html"
        warnings = io.StringIO()
        for name, content in site_files(reports, specs, commands, checks).items():
            if not _PATH.fullmatch(name):
                raise ReportError(
                    f"{name!r} is not a name that a page of the site can have"
                )
            path = source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        Sphinx(
            str(source),
            None,
            str(built),
            str(Path(work) / "doctrees"),
            "html",
            CONFIG,
            status=None,
            warning=warnings,
        ).build()
        (built / START_PAGE).write_bytes((built / FRONT_PAGE).read_bytes())
        publish(built, out)
    return warnings.getvalue().splitlines()


def site_files(
    reports: Path, specs: Specs, commands: str, checks: str = PAPERS
) -> dict[str, bytes]:
    """Return all input files of Sphinx by path: the report, the claims, the guides, the commands and the API."""
    runs = ordered_runs(recorded(reports))
    other_names = other_pages(reports)
    pages_of_papers = render(runs, specs.papers, other_names, drawn_elsewhere(reports))
    files = {f"reports/{name}": content for name, content in pages_of_papers.items()}
    for page in other_names:
        paths = [
            reports / f"{page}.md",
            *(reports / "figures").glob(f"{FIGURES.get(page, page)}*.svg"),
        ]
        files |= {
            f"reports/{path.relative_to(reports).as_posix()}": _of_folder(path)
            for path in paths
        }
    pages = {
        name: content.decode()
        for name, content in files.items()
        if name.endswith(".md")
    }
    if (rules := f"reports/{RULES}") in pages:
        pages[rules] = rules_page(
            {rule.name: rule.proof for rule in CATALOGUE.values()}
        )
    pages |= claim_pages(runs, specs, checks, reports / "certificates")
    pages = {
        name: text if name.startswith("source/") else plain_fences(text)
        for name, text in pages.items()
    }
    pages |= (
        dict(_guides())
        | dict(_reference())
        | {"api/commands.md": commands.replace("# dpverify", "# The command line", 1)}
    )
    for key in runs:
        parts = [name for name in pages if name.startswith(f"reports/{key}/")]
        pages[f"reports/{key}.md"] += _toctree("", parts, f"reports/{key}.md")
    top_pages = {"specs/README.md", "CONTRIBUTING.md", "CHANGELOG.md"} & pages.keys()
    guides = [*(name for name in pages if name.startswith("docs/")), *sorted(top_pages)]
    pages["README.md"] += _toctree(
        "Findings",
        [
            "reports/README.md",
            TABLE,
            *(f"reports/{key}.md" for key in (*runs, *other_names)),
            *({rules} & pages.keys()),
        ],
    )
    pages["README.md"] += _toctree("Guides", guides)
    pages["README.md"] += _toctree(
        "Reference", [name for name in pages if name.startswith("api/")]
    )
    listed = {*guides, "README.md"}
    for name, text in pages.items():
        alone = name not in listed and not name.startswith(
            ("reports/", "claims/", "source/", "api/")
        )
        files[name] = _adapted(
            name, f"---\norphan: true\n---\n\n{text}" if alone else text, pages
        ).encode()
    return files


def _of_folder(path: Path) -> bytes:
    """Read a page or figure of a report's folder. It must be written by dpverify, and a figure must have no scripts."""
    if not is_generated(path):
        raise ReportError(f"{path}: was not written by dpverify; move it away")
    content = path.read_bytes()
    return check_picture(path.name, content) if path.suffix == ".svg" else content


def _guides() -> Iterator[tuple[str, str]]:
    """Yield the documents of the repository, or of an installed wheel, as pairs of path and text."""
    package = Path(__file__).resolve().parents[1]
    root = package.parent
    docs = bundled("docs")
    specs = bundled("specs")
    readme = root / "README.md"
    in_checkout = docs.parent == root
    yield (
        "README.md",
        readme.read_text(encoding="utf-8")
        if in_checkout
        else metadata("dpverify")["Description"] or "",
    )
    for name in ("CONTRIBUTING.md", "CHANGELOG.md") if in_checkout else ():
        yield name, (root / name).read_text(encoding="utf-8")
    folders = {
        docs: "docs",
        specs: "specs",
        package / "papers": "dpverify/papers",
        package / "privacy": "dpverify/privacy",
    }
    for folder, base in folders.items():
        for path in sorted(folder.rglob("*.md")):
            yield (
                f"{base}/{path.relative_to(folder).as_posix()}",
                path.read_text(encoding="utf-8"),
            )


def _reference() -> Iterator[tuple[str, str]]:
    """Yield an API page for each package, as pairs of path and text."""
    for package in ("dpverify", *(f"dpverify.{name}" for name in PACKAGES)):
        options = ":members:\n   :imported-members:" + (
            "\n   :no-index:" if package in {"dpverify", "dpverify.ledger"} else ""
        )
        yield (
            f"api/{package}.md",
            f"# {md.code(package)}\n\n```{{eval-rst}}\n.. automodule:: {package}\n   {options}\n```\n",
        )


def _toctree(caption: str, names: list[str], page_name: str = "README.md") -> str:
    """Return a hidden table of contents, which only the sidebar shows."""
    entries = [
        posixpath.relpath(name, posixpath.dirname(page_name) or ".") for name in names
    ]
    head = f":hidden:\n:caption: {caption}\n" if caption else ":hidden:\n"
    return "\n".join(["", "```{toctree}", head, *entries, "```", ""]) if names else ""


def _adapted(name: str, text: str, pages: Mapping[str, str]) -> str:
    """Return a page with formulas in MyST's syntax, and without links that do not lead to a page of the site."""

    def kept(link: re.Match[str]) -> str:
        target = posixpath.normpath(
            posixpath.join(posixpath.dirname(name), link["target"])
        )
        folder = posixpath.join(target, "README.md")
        if target in pages:
            return link[0]
        if folder in pages:
            return md.link(
                link["text"],
                posixpath.relpath(folder, posixpath.dirname(name) or ".")
                + (link["anchor"] or ""),
            )
        return link["text"]

    return _LINK.sub(kept, _MATH.sub(r"$\1$", text))
