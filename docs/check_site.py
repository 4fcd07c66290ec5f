"""Checks a built site: every link, anchor, picture, script and style leads somewhere inside it, and every page can be searched.

python check_site.py HTML_FOLDER
"""

import html.parser
import pathlib
import re
import sys
import urllib.parse

import pages


class Page(html.parser.HTMLParser):
    """The targets and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors.update(value for key in ("id", "name") if (value := given.get(key)))
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))
        for key in ("src", "data") if tag in ("img", "script", "iframe", "object") else ("href",) if tag == "link" else ():
            if given.get(key):
                self.loads.append(str(given[key]))


def faults(site: pathlib.Path) -> list[str]:
    """All that leads nowhere, a line each."""
    read = {file.resolve(): Page(file.read_text(encoding="utf-8")) for file in sorted(site.rglob("*.html")) if "_static" not in file.parts}
    out = []
    for file, page in read.items():
        name = file.relative_to(site.resolve())
        for target in page.loads + page.links:
            url = urllib.parse.urlsplit(target)
            if url.scheme or url.netloc:
                if target in page.loads:
                    out.append(f"{name}: loads {target} from the network")
                continue
            path = file if not url.path else (file.parent / urllib.parse.unquote(url.path)).resolve()
            if not path.exists():
                out.append(f"{name}: {target} does not exist")
            elif url.fragment and path in read and urllib.parse.unquote(url.fragment) not in read[path].anchors:
                out.append(f"{name}: {target} has no such anchor")
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    found = re.search(r'"?docnames"?:\s*\[([^\]]*)\]', index)
    names = set(re.findall(r'"([^"]+)"', found[1])) if found else set()
    for page_name in pages.site_pages():
        if page_name.removesuffix(".md") not in names:
            out.append(f"{page_name}: the search does not know it")
    return out


if __name__ == "__main__":
    wrong = faults(pathlib.Path(sys.argv[1]))
    print("\n".join(wrong) if wrong else f"{len(pages.site_pages())} pages: every link and anchor leads somewhere")
    sys.exit(1 if wrong else 0)
