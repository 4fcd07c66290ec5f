"""The pages of the documentation site: which they are, in which order, and what their links mean there.

docs/README.md lists the sections, and each page of a section lists its pages. The lists are items of a Markdown list, or rows of a
table, that begin with a link. conf.py makes the navigation of these lists, tools/docs checks it, and a test runs the commands of
these pages.
"""

import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
START = "docs/README.md"
PARENTS = ("docs/formats/README.md",)  # besides those of docs/site
ITEM = re.compile(r"^(?:- |\| )\[[^\]]*\]\(([^)#\s]+\.md)\)", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[([^\]\n]*(?:\n[^\]\n]+)?)\]\(([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def resolved(page: str, target: str) -> str:
    """The path from the root of what a page links to."""
    return os.path.normpath(os.path.join(os.path.dirname(page), target)).replace(os.sep, "/")


def children(page: str) -> list[str]:
    """The pages below a page: the start has those of its list, a section page those of its own, no other page has any."""
    if page != START and page not in PARENTS and not page.startswith("docs/site/"):
        return []
    below = [resolved(page, target) for target in ITEM.findall((ROOT / page).read_text(encoding="utf-8"))]
    return list(dict.fromkeys(below))


def site_pages() -> list[str]:
    """All pages in reading order; each appears once."""
    pages: list[str] = []
    queue = [START]
    while queue:
        page = queue.pop(0)
        if page not in pages:
            pages.append(page)
            queue = children(page) + queue
    return pages


def site_target(page: str, target: str, pages: set[str]) -> str | None:
    """Where a link of a page leads on the site: another page, a file to open, or None, where the site has nothing to show."""
    name, hash_, anchor = target.partition("#")
    if not name or re.match(r"[a-z]+:", target):
        return target
    path = resolved(page, name)
    if path in pages:
        return target
    if not (ROOT / path).exists():
        raise ValueError(f"{page}: links to {target}, which does not exist")
    if (ROOT / path).is_dir():
        for inside in ("README.md", "table.txt"):
            if path + "/" + inside in pages:
                return os.path.relpath(path + "/" + inside, os.path.dirname(page)) + hash_ + anchor
            if inside == "table.txt" and (ROOT / path / inside).exists():
                return "path:" + os.path.relpath(path + "/" + inside, os.path.dirname(page))
        return None
    return "path:" + name


def site_text(page: str, text: str, pages: set[str]) -> str:
    """A page as the site has it: links lead to pages and files of the site, and a link without a target is plain text."""

    def link(match: re.Match[str]) -> str:
        target = site_target(page, match[2], pages)
        return match[1] if target is None else f"[{match[1]}]({target})"

    parts = FENCE.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)
