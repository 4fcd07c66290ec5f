"""How Sphinx builds the site. tools/docs runs it; the source folder is the root of the repository, since pages link across it."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
import pages as site  # noqa: E402
from pygments.lexers.special import TextLexer  # noqa: E402

PAGES = site.site_pages()

project = "Penstock"
author = "The Penstock authors"
project_copyright = "The Penstock authors, Apache License 2.0"
root_doc = site.START.removesuffix(".md")
include_patterns = PAGES
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
nitpicky = True
show_warning_types = True

html_theme = "pydata_sphinx_theme"
html_title = "Penstock"
html_static_path = ["site/static"]
html_css_files = ["penstock.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "logo": {"text": "Penstock"},
    "header_links_before_dropdown": 7,
    "navigation_depth": 2,
    "show_toc_level": 2,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
    "use_edit_page_button": False,
    "back_to_top_button": True,
}
pygments_style = "a11y-high-contrast-light"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# Types of other packages, and of the standard library, have no page here.
nitpick_ignore_regex = [(r"py:.*", r".*")]


def adapt(app, docname, source):
    """Turns links to what the site has, and gives a page the navigation that its list states."""
    page = docname + ".md"
    text = site.site_text(page, source[0], set(PAGES))
    below = [name.removesuffix(".md") for name in site.children(page)]
    if below:
        text += "\n\n```{toctree}\n:hidden:\n:maxdepth: 2\n\n" + "\n".join("/" + name for name in below) + "\n```\n"
    source[0] = text


def literal(app, what, name, obj, options, lines):
    """Docstrings put code between single backticks, as Markdown does."""
    lines[:] = [re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", line) for line in lines]
    if typed := lines and re.fullmatch(r"\(self\) -> (.*)", lines[0]):  # nanobind's, of a property without words
        lines[0] = "Type: ``" + typed[1].replace("penstock._core.", "") + "``"


def setup(app):
    app.connect("autodoc-process-docstring", literal)
    app.connect("source-read", adapt)
    app.add_lexer("csv", TextLexer)  # Pygments has none
    return {"parallel_read_safe": True}
