"""Pages and figures of the site without what browsers do not show."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import dpverify.site
from dpverify.site.output import shorten_figure, shorten_page, shorten_style
from tests.for_each import for_each


@for_each(
    ("page", "short"),
    [
        (
            "<div>\n    <i>a\n  b</i>  \n\n<b>c</b></div>",
            "<div>\n<i>a\nb</i>\n<b>c</b></div>",
        ),
        ("<div>\n    <p>a\n  b</p>  \n\n</div>", "<div><p>a\nb</div>"),
        ("<pre>  a\n\n    b</pre>\n  <p>", "<pre>  a\n\n    b</pre><p>"),
        (
            "<script>\n  f('<a href=\"x\">');\n</script>",
            "<script>\n  f('<a href=\"x\">');\n</script>",
        ),
        (
            '<code class="docutils literal notranslate"><span class="pre">a</span> <span class="pre">b</span></code>',
            "<code class=notranslate>a b</code>",
        ),
        (
            '<a href="x"><span class="std std-doc">a <b>c</b></span></a>',
            "<a href=x>a <b>c</b></a>",
        ),
        (
            '<span class="std std-doc">a<span>b</span></span>',
            '<span class="std std-doc">a<span>b</span></span>',
        ),
        (
            '<td class="linenos"><pre><span class="normal"> 1</span></pre></td>',
            "<td class=linenos><pre> 1</pre>",
        ),
        (
            '<p>&lt;span class="pre"&gt;a&lt;/span&gt;</p>',
            '<p>&lt;span class="pre"&gt;a&lt;/span&gt;</p>',
        ),
        ('<p>class="a"</p>', '<p>class="a"</p>'),
        (
            '<a class="reference internal" href="../" title="a b">',
            '<a href="../" title="a b">',
        ),
        (
            '<a class="reference external" href="a/b.html#c-1">',
            '<a class="reference external" href=a/b.html#c-1>',
        ),
        ("<ul>\n<li><p>a</p></li>\n<li>b</li>\n</ul>", "<ul><li><p>a<li>b</ul>"),
        ("<dd><p>a</p></dd> <p>b</p><i>c</i>", "<dd><p>a</dd> <p>b</p><i>c</i>"),
    ],
)
def test_a_page_loses_what_a_browser_implies_and_spans_outside_of_code(
    page: str, short: str
) -> None:
    assert shorten_page(page) == short


class Text(HTMLParser):
    """The words of a page, with the attributes of its elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.parts: list[object] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parts.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.parts.extend(data.split())


def test_words_links_and_elements_stay() -> None:
    page = """<section id="a-1">
    <table class="docutils align-default"><thead><tr><th class="head">x</th></tr></thead>
      <tbody><tr><td><p>1 &lt; 2</p></td><td><a href="b.html#c" title="d > e">f</a></td></tr></tbody></table>
    <dl class="simple"><dt>g</dt><dd><p>h</p></dd></dl><p>i</p>j</section>"""
    assert Text(shorten_page(page)).parts == Text(page).parts


def test_icons_are_named_for_the_style_sheet_and_not_drawn_in_a_page() -> None:
    toggle = '<button class="theme-toggle" aria-label="Toggle Light / Dark / Auto color theme">'
    sun = '<svg class="theme-icon-when-light"><use href="#svg-sun"></use></svg>'
    menu = '<span class="icon"><svg><use href="#svg-menu"></use></svg></span>'
    related = '<svg class="furo-related-icon"><use href="#svg-arrow-right"></use></svg>'
    short = shorten_page(f"{toggle}\n {sun}</button>{menu}{related}")
    assert short == (
        '<button class=theme-toggle title="Toggle Light / Dark / Auto color theme"></button>'
        "<span class=icon title=Menu><svg class=icon-menu></svg></span>"
        '<svg class="icon-arrow-right furo-related-icon"></svg>'
    )
    style = (Path(dpverify.site.__file__).parent / "static" / "site.css").read_text(
        "utf-8"
    )
    for name in ("icon-menu", "icon-toc", "icon-arrow-right", "theme-toggle"):
        assert f".{name} {{ --icon: url(" in style


def test_style_sheets_name_what_the_shortened_pages_have() -> None:
    style = (
        "a.reference{x:y}.tree .reference.external:after{x:y}p code.literal{x:y}/*# "
        "sourceMappingURL=furo.css.map */"
    )
    short = "a:any-link{x:y}.tree :any-link.external:after{x:y}p code.notranslate{x:y}"
    assert shorten_style(style) == short


STYLE = "fill: #1a1a1a; stroke: #000000"
USE = f'<use x="1.23456" y="-0.987654" style="{STYLE}"/>'
HEAD = "<svg><defs><style>*{stroke-linecap: butt}</style></defs>"


def test_a_figure_writes_a_style_once_and_coordinates_with_two_decimals() -> None:
    path = '<path transform="scale(0.015625)" d="M 1.999999 2\nL 3 4"/>'
    figure = f"{HEAD}<metadata>when</metadata>\n   {USE * 4}{path}</svg>"
    rules = f"*{{stroke-linecap: butt}}.s0{{{STYLE}}}"
    uses = '<use x="1.23" y="-0.98" class="s0"/>' * 4
    path = path.replace("M 1.999999 2\nL 3 4", "M1.99 2L3 4")
    assert (
        shorten_figure(figure)
        == f"<svg><defs><style>{rules}</style></defs>\n{uses}{path}</svg>"
    )


def test_a_figure_writes_a_long_path_once() -> None:
    path = "M 0.5 -0.25\n" + "L 10.5 2\n" * 200
    figure = f'{HEAD}<pattern><path d="{path}" fill="red"/></pattern><path d="{path}" fill="blue"/></svg>'
    short = "M.5 -.25" + "L10.5 2" * 200
    assert shorten_figure(figure) == (
        f'<svg><defs><style>*{{stroke-linecap: butt}}</style><defs><path id="shared0" d="{short}"/></defs></defs>'
        '<pattern><use href="#shared0" fill="red"/></pattern><use href="#shared0" fill="blue"/></svg>'
    )


@for_each("figure", [HEAD + USE, USE * 9, f'{HEAD}<g class="a">' + USE * 9])
def test_a_style_stays_where_it_is_rare_or_cannot_have_a_name(figure: str) -> None:
    assert shorten_figure(figure).count(f'style="{STYLE}"') == figure.count("<use")


@for_each("bad", ["}*{fill: red", "@import x", "a/*", "\\7d"])
def test_what_could_end_a_rule_stays_in_its_element(bad: str) -> None:
    assert (
        bad
        not in shorten_figure(f"{HEAD}" + f'<use style="{bad}"/>' * 9).partition(
            "</style>"
        )[0]
    )
