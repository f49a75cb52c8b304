"""What Sphinx is given, without Sphinx: pages whose links lead somewhere, the code of a claim, the sides' contents."""

from __future__ import annotations

import posixpath
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dpverify.harness.evidence.hashes import imported_names
from dpverify.ledger import load_specs
from dpverify.ledger.specs import Specs
from dpverify.papers import index
from dpverify.site import build
from dpverify.site.build import _adapted, _toctree, build_site, site_files
from dpverify.site.claims import _pieces, code_block, code_of, source_page
from tests.unit.report.rendering import places

ROOT = Path(__file__).parents[3]
PAPERS = "dpverify.papers.tran2022."
PAPER, CLAIM = "zhang2021", "claims/zhang2021/theorem-2-1.md"
WITH_PLACES = ("source/", "reports/rules.md", f"reports/{PAPER}/proofs.md")
"""Pages of which every place is linked by its name as GitHub has it."""
LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\\[\[\]])*\]\(([^()\s:#]+)(?:#([^()\s]*))?\)")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    reports = tmp_path_factory.mktemp("reports")
    (reports / "data").mkdir()
    shutil.copy(ROOT / "reports" / "data" / f"{PAPER}.json", reports / "data")
    (reports / "certificates").mkdir()
    for certificate in (ROOT / "reports" / "certificates").glob(f"{PAPER}-*.json"):
        shutil.copy(certificate, reports / "certificates")
    found = site_files(reports, load_specs(), "# dpverify\n\nall commands\n")
    return {
        name: content.decode()
        for name, content in found.items()
        if name.endswith(".md")
    }


def test_links_lead_to_pages_and_to_places_on_them(files: dict[str, str]) -> None:
    wrong = []
    for name, text in files.items():
        for target, anchor in LINK.findall(text):
            page = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
            if page not in files:
                wrong.append(f"{name}: {target}")
            elif (
                anchor
                and page.startswith(WITH_PLACES)
                and anchor not in places(files[page])
            ):
                wrong.append(f"{name}: {target}#{anchor}")
    assert wrong == []
    assert LINK.findall(files[CLAIM])
    proofs = [
        text.partition("## Proof")[2]
        for name, text in files.items()
        if name.startswith("claims/zhang2021/")
    ]
    assert sum("](../../reports/rules.md#" in text for text in proofs) > 5
    assert any("<br>needs $" in text for text in proofs)
    assert "A number with" in files["reports/rules.md"], (
        "the site says why a rule is true"
    )


def test_a_claim_stands_beside_what_rests_on_it_its_report_and_its_code(
    files: dict[str, str],
) -> None:
    text = files[CLAIM]
    assert "# `zhang2021:theorem-2-1`" in text
    assert "(../README.md)" in text
    assert re.search(
        r"\(\.\./\.\./reports/zhang2021[^)]*\.md#[^)]*theorem-2-1[^)]*\)", text
    )
    assert "(../../source/dpverify/papers/zhang2021/privacy/checks/theorems.md)" in text
    specs = load_specs()
    for claim, uses in specs.uses().items():
        page = f"claims/{claim.replace(':', '/')}.md"
        for used in uses:
            other = f"claims/{used.replace(':', '/')}.md"
            if page in files and other in files:
                beside = files[page].partition("## Related claims")[2]
                assert f"`{used}`" in beside.partition("Used by")[0]
                assert f"`{claim}`" in files[other].partition("Used by")[2]


def test_the_table_has_a_row_for_each_reading(files: dict[str, str]) -> None:
    rows = [
        line
        for line in files["claims/README.md"].splitlines()
        if line.startswith("| [")
    ]
    pages = {name for name in files if name.startswith("claims/zhang2021/")}
    assert {f"claims/{re.search(r'[(](.*?)[)]', row)[1]}" for row in rows} == pages  # type: ignore[index]  # all match
    assert len(rows) >= len(pages)


def test_every_page_is_in_a_table_of_contents_or_says_that_it_is_in_none(
    files: dict[str, str],
) -> None:
    listed = {"README.md"}
    for name, text in files.items():
        for block in re.findall(r"```{toctree}\n(.*?)```", text, re.DOTALL):
            entries = [
                line for line in block.splitlines() if line and not line.startswith(":")
            ]
            listed |= {
                posixpath.normpath(posixpath.join(posixpath.dirname(name), entry))
                for entry in entries
            }
    assert listed <= files.keys()
    orphans = {
        name for name, text in files.items() if text.startswith("---\norphan: true\n")
    }
    assert listed | orphans == files.keys()
    assert not listed & orphans
    assert files["api/commands.md"].startswith("# The command line\n")
    assert "dpverify" in files["README.md"]


def test_a_page_keeps_links_to_pages_alone_and_has_formulas_in_dollars() -> None:
    pages = {"docs/a.md": "", "docs/b.md": "", "specs/README.md": ""}
    kept, shown = "[web](https://a.b) ![c](c.svg)", "[b](b.md#x)"
    text = f"{shown} [specs](../specs) [there](../specs#y) [code](../dpverify/x.py) {kept} $`x_1`$"
    assert _adapted("docs/a.md", text, pages) == (
        f"{shown} [specs](../specs/README.md) [there](../specs/README.md#y) code {kept} $x_1$"
    )
    assert (
        _adapted("a.md", "[docs](docs/a.md) [gone](docs/c.md)", pages)
        == "[docs](docs/a.md) gone"
    )


def test_a_table_of_contents_is_hidden_and_relative() -> None:
    assert _toctree("Guides", []) == ""
    said = _toctree("Guides", ["docs/a.md", "b.md"], "docs/README.md").splitlines()
    assert said == [
        "",
        "```{toctree}",
        ":hidden:",
        ":caption: Guides",
        "",
        "a.md",
        "../b.md",
        "```",
    ]
    assert ":caption:" not in _toctree("", ["a.md"])


def test_the_source_of_a_module_is_whole_with_its_lines_numbered() -> None:
    module = "dpverify.site.claims"
    lines = (ROOT / "dpverify" / "site" / "claims.py").read_text().splitlines()
    page, found = source_page(module), dict[int, str]()
    for start, text in re.findall(
        r":lineno-start: (\d+)\n\n(.*?)\n``````", page, re.DOTALL
    ):
        found |= {int(start) + k: line for k, line in enumerate(text.splitlines())}
    assert found == {n: lines[n - 1] for n in found}
    assert {n for n, line in enumerate(lines, 1) if line.strip()} <= found.keys()
    for name in ("source_page", "FOLDER", "Names", "_piece"):
        assert page.count(f'id="{name}"') == 1
    assert (
        page.index('id="source_page"')
        < page.index("@cache")
        < page.index("def source_page")
    )
    with pytest.raises(ValueError, match="must have Python source"):
        source_page("dpverify.no_such_module")


def test_lines_that_follow_each_other_stay_in_their_order() -> None:
    lines = [
        "import os",
        "A = 1",
        "B = A + 1",
        "@cached",
        "def c(): return B",
        "D, E = 2, 3",
    ]
    text = "\n".join(_pieces(lines))
    assert [line for line in text.splitlines() if line in lines] == lines
    assert [
        text.index(f'id="{name}"') < text.index(line)
        for name, line in zip("ABcDE", [*lines[1:4], *lines[5:] * 2], strict=True)
    ] == [True] * 5


def test_code_is_sorted_into_checks_kernels_and_bounds_with_what_is_taken() -> None:
    code = code_of("tran2022:lemma-12")
    assert "dpverify.papers.tran2022.noise.checks.lemma_12" in code["Checks"]
    assert all(
        ".algorithms" in module or ".accounting.algorithm" in module
        for module in code["Kernels"]
    )
    assert (
        "dpverify.papers.tran2022.noise.noise_bounds" in code["Bounds and derivations"]
    )
    assert not any(
        ".checks" in module
        for title, found in code.items()
        if title != "Checks"
        for module in found
    )
    assert code_of("tran2022:no-such-claim") == {}
    claims = 0
    for name, file in index().files.items():
        if name.startswith(PAPERS) and (
            taken := {
                home
                for home, _ in imported_names(name)
                if ".checks" in home and home.startswith(PAPERS)
            }
        ):
            claims += 1
            assert {name, *taken} <= code_of(f"{name.split('.')[2]}:{file.claims[0]}")[
                "Checks"
            ].keys()
    assert claims
    assert code_block({"Kernels": {"dpverify.papers.a.b": ["run", "go"]}}, "../") == (
        "Kernels:\n\n- [`a.b`](../source/dpverify/papers/a/b.md): "
        "[`go`](../source/dpverify/papers/a/b.md#go), [`run`](../source/dpverify/papers/a/b.md#run)"
    )


def test_sphinx_gets_the_pages_and_its_warnings_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, str] = {}

    class Sphinx:
        def __init__(
            self,
            source: str,
            conf: None,
            out: str,
            doctrees: str,
            builder: str,
            config: object,
            **io: Any,
        ):
            seen.update(
                {page.name: page.read_text() for page in Path(source).glob("*.md")},
                builder=builder,
            )
            assert not Path(doctrees).is_relative_to(source)
            io["warning"].write("README.md: one\nREADME.md: two\n")
            self.out = Path(out)

        def build(self) -> None:
            (self.out / ".doctrees").mkdir(parents=True)
            (self.out / "README.html").touch()

    monkeypatch.setitem(sys.modules, "sphinx", ModuleType("sphinx"))
    monkeypatch.setitem(
        sys.modules, "sphinx.application", ModuleType("sphinx.application")
    )
    monkeypatch.setattr(
        sys.modules["sphinx.application"], "Sphinx", Sphinx, raising=False
    )
    monkeypatch.setattr(
        build, "site_files", lambda *_: {"README.md": b"# It", "reports/a.md": b"# A"}
    )
    assert build_site(tmp_path / "site", tmp_path, Specs(tmp_path, {}), "") == [
        "README.md: one",
        "README.md: two",
    ]
    assert seen == {"README.md": "# It", "builder": "html"}
    assert sorted(path.name for path in (tmp_path / "site").iterdir()) == [
        "README.html",
        "index.html",
    ]


def test_guides_are_those_of_the_checkout_and_what_two_packages_export_is_indexed_once(
    files: dict[str, str],
) -> None:
    head = (ROOT / "README.md").read_text().splitlines()[0]
    assert files["README.md"].startswith(head)
    assert {"CONTRIBUTING.md", "CHANGELOG.md", "specs/README.md"} <= files.keys()
    api = {
        name: text for name, text in files.items() if name.startswith("api/dpverify")
    }
    assert {name for name, text in api.items() if ":no-index:" in text} == {
        "api/dpverify.md",
        "api/dpverify.ledger.md",
    }
