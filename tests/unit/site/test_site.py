"""The site, built from two short papers (or the whole one that DPVERIFY_SITE names), followed link by link and used
in a real browser at three widths.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest

from tests.for_each import for_each

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).parents[3]
WIDTHS = (360, 800, 1024, 1600)
PAGES = (
    *(
        "README.html",
        "claims/README.html",
        "claims/zhang2021/theorem-2-1.html",
        "reports/zhang2021.html",
    ),
    *(
        "docs/what-proved-means.html",
        "docs/your-optimizer.html",
        "api/dpverify.privacy.html",
        "api/commands.html",
    ),
)


def skip(reason: str) -> None:
    """Skip, and say so among the warnings as well, which nobody overlooks."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.warn(f"THE SITE WAS NOT TESTED: {reason}", stacklevel=1)
    pytest.skip(f"THE SITE WAS NOT TESTED: {reason}")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if built := os.environ.get("DPVERIFY_SITE"):
        return Path(built)
    try:
        import furo  # noqa: F401  only whether it is there
    except ImportError:
        skip("the extra `site` is not installed")
    reports, out = tmp_path_factory.mktemp("reports"), tmp_path_factory.mktemp("site")
    (reports / "data").mkdir()
    for paper in ("zhang2021", "wang2019"):
        shutil.copy(ROOT / "reports" / "data" / f"{paper}.json", reports / "data")
    # apart: Sphinx has Python warnings of its own
    words = ["site", "--out", str(out), "--report", str(reports)]
    # fails where Sphinx warns
    subprocess.run([sys.executable, "-m", "dpverify", *words], check=True)
    return out


class Links(HTMLParser):
    """The ids of a page and what it points to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            if name in {"href", "src"} and value:
                self.targets.append(value)


def broken(site: Path) -> Iterator[str]:
    pages = {path: Links(path) for path in site.rglob("*.html")}
    for path, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme in {"http", "https", "data", "mailto"}:
                continue
            file = (
                (path.parent / unquote(parts.path)).resolve()
                if parts.path
                else path.resolve()
            )
            anchor = unquote(parts.fragment)
            if not file.exists():
                yield f"{path.relative_to(site)}: {target}"
            elif anchor and file in pages and anchor not in pages[file].ids:
                yield f"{path.relative_to(site)}: {target} (no such place)"


def test_no_link_is_broken(site: Path) -> None:
    assert list(broken(site.resolve())) == []


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="a.html#x">x</a><a href="b.html">y</a><p id="z"></p><a href="#z">z</a>'
    )
    assert list(broken(tmp_path.resolve())) == [
        "a.html: a.html#x (no such place)",
        "a.html: b.html",
    ]


def test_a_claim_stands_beside_its_code(site: Path) -> None:
    page = (site / "claims" / "zhang2021" / "theorem-2-1.html").read_text()
    assert "<math" in page
    assert "source/dpverify/papers/zhang2021/privacy/checks/theorems.html" in page
    assert "subsampling_bounds" in page


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def page(address: str) -> Iterator[Page]:
    """A page of the browser; whatever it complains of, or asks of another machine, is a failure."""
    found = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        skip("the extra `browser` is not installed")
        raise
    if found is None:
        skip("there is no Chromium")
    faults: list[str] = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page()
        page.on(
            "console",
            lambda said: (
                faults.append(said.text) if said.type in {"error", "warning"} else None
            ),
        )
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on(
            "request",
            lambda asked: (
                None
                if asked.url.startswith((address, "data:"))
                else faults.append(asked.url)
            ),
        )
        page.on(
            "response",
            lambda got: (
                faults.append(f"{got.status} {got.url}") if got.status >= 400 else None
            ),
        )
        yield page
        browser.close()
    assert faults == []


@for_each("width", WIDTHS)
@for_each("name", PAGES)
def test_a_page_never_scrolls_sideways(
    page: Page, address: str, name: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{address}/{name}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("article h1").first.is_visible()


def test_filters_show_what_fits_and_are_kept_in_the_address(
    page: Page, address: str
) -> None:
    page.set_viewport_size({"width": 1400, "height": 800})
    page.goto(f"{address}/claims/README.html")
    rows = page.locator("article tbody tr")
    assert rows.count() > 20
    page.get_by_label("paper").select_option("zhang2021")
    page.get_by_label("status").select_option(label="✗ refuted")
    shown = page.locator("article tbody tr:visible")
    assert 0 < shown.count() < rows.count()
    assert all(
        "zhang2021" in text and "refuted" in text for text in shown.all_inner_texts()
    )
    assert (
        page.locator("output").inner_text()
        == f"{shown.count()} of {rows.count()} verdicts"
    )
    page.reload()
    assert page.get_by_label("paper").input_value() == "zhang2021"
    page.get_by_label("text").fill("no-such-claim")
    assert page.locator("article tbody tr:visible").count() == 0


def test_filters_work_with_the_keyboard(page: Page, address: str) -> None:
    page.goto(f"{address}/claims/README.html")
    page.get_by_label("paper").focus()
    page.keyboard.press("ArrowDown")
    assert page.get_by_label("paper").input_value() != ""
    for _ in ("kind", "status", "severity", "corrected", "text"):
        page.keyboard.press("Tab")
    page.keyboard.type("theorem")
    assert page.get_by_label("text").input_value() == "theorem"
    page.keyboard.press("Tab")
    # the first link of the table
    assert page.evaluate("document.activeElement.tagName") == "A"
    page.keyboard.press("Enter")
    page.wait_for_url("**/claims/*/*.html")


def test_search_finds_a_claim(page: Page, address: str) -> None:
    page.goto(f"{address}/README.html")
    page.set_viewport_size({"width": 1400, "height": 800})
    page.locator("input[name=q]").first.fill("theorem-2-1")
    page.keyboard.press("Enter")
    page.locator("#search-results a", has_text="theorem-2-1").first.wait_for()
