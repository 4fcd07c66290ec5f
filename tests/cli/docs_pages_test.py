#!/usr/bin/env python3
"""Statements of the site's pages are true: their commands, planners, exit codes and figures; and each page is reachable.

  docs_pages_test.py PENSTOCK SOURCE

A command line in a block ```sh is run, in the order of its page, in a folder that has experiments and results. The comment
<!-- commands: check --> before a block states that its commands need a file, a device or minutes: then the command and its options
must exist. So they must in text between backticks, in other blocks, and on pages that are listed in CHECKED.
"""

import csv
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

PENSTOCK, SOURCE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "docs"))
import check_site  # noqa: E402
import pages as site  # noqa: E402

RUN_ELSEWHERE = {"docs/tutorial.md": "tutorial_test.sh", "docs/site/gallery.md": "tools/gallery --check"}
GENERATED = {"src/cli/REFERENCE.md", "results/README.md"}
# Commands of these pages are for files and machines of the reader, or take minutes.
CHECKED = {"README.md", "docs/frameworks.md", "docs/examples.md", "experiments/README.md", "tests/README.md", "results/README.md"}
# Pages of docs that are no pages of the site.
OUTSIDE: set[str] = set()
BLOCK = re.compile(r"(?P<mark><!-- commands: check -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)

failures: list[str] = []


def expect(holds: object, what: str) -> None:
    if not holds:
        failures.append(what)
        print("FAILED:", what)


def text_of(page: str) -> str:
    return (SOURCE / page).read_text(encoding="utf-8")


def penstock(*words: str) -> str:
    ran = subprocess.run([PENSTOCK, *words], capture_output=True, text=True)
    return ran.stdout if ran.returncode == 0 else ""


class Help:
    """Sub-commands and options by the program's own help."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, ...], str] = {}

    def text(self, command: tuple[str, ...]) -> str:
        if command not in self.known:
            self.known[command] = penstock(*command, "--help")
        return self.known[command]

    def subcommands(self, command: tuple[str, ...]) -> set[str]:
        _, found, rest = self.text(command).partition("Subcommands:\n")
        return set(re.findall(r"^  ([a-z][a-z-]*)", rest, re.MULTILINE)) if found else set()

    def options(self, command: tuple[str, ...]) -> set[str]:
        return set(re.findall(r"(?<![\w-])(--?[A-Za-z][\w-]*)", self.text(command)))

    def fault(self, words: list[str]) -> str | None:
        """Fault of the words behind `penstock`, or None."""
        command: tuple[str, ...] = ()
        words = list(words)
        while words and words[0] in self.subcommands(command):
            command += (words.pop(0),)
        if not command and words and not re.fullmatch(r"-.*|[A-Z_.]+", words[0]):
            return f"no command '{words[0]}'"
        for word in words:
            option = word.split("=")[0]
            if re.fullmatch(r"--?[A-Za-z][\w-]*", option) and option not in self.options(command):
                return f"'penstock {' '.join(command)}' has no option {option}"
        return None


HELP = Help()


def lines_of(block: str) -> list[str]:
    """The command lines of a block that begin with penstock, whatever prompt or folder comes before it."""
    joined = re.sub(r"\\\n\s*", " ", block)
    found = re.findall(r"^(?:\$ )?(?:[\w./]*/)?(penstock .*)$", joined, re.MULTILINE)
    return [line for line in found if not line.startswith("penstock - ")]


def invocations(line: str) -> list[list[str]]:
    """The words behind each `penstock` of a shell line."""
    out: list[list[str]] = []
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    taken = False
    for word in lexer:
        if word in ("&&", "||", "|", ";", "(", ")", ">", "&"):
            taken = False
        elif taken:
            out[-1].append(word)
        elif pathlib.PurePath(word).name == "penstock":
            out.append([])
            taken = True
    return out


def check_commands() -> int:
    """Every command of every page; how many there are."""
    count = 0
    for page in site.site_pages():
        if page in GENERATED:
            continue
        text = text_of(page)
        to_run: list[str] = []
        for block in BLOCK.finditer(text):
            runs = block["language"] == "sh" and not block["mark"] and page not in CHECKED and page not in RUN_ELSEWHERE
            for line in lines_of(block["text"]):
                count += 1
                for words in invocations(line):
                    fault = HELP.fault(words)
                    expect(fault is None, f"{page}: {line}: {fault}")
                if runs:
                    to_run.append(line)
        for inline in re.findall(r"`penstock ([^`]+)`", BLOCK.sub("", text)):
            count += 1
            try:
                words = shlex.split(inline.replace("\n", " "))
            except ValueError:
                words = inline.split()
            fault = HELP.fault(words)
            expect(fault is None, f"{page}: `penstock {inline}`: {fault}")
        if to_run:
            run(page, to_run)
    return count


def run(page: str, lines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        here = pathlib.Path(scratch)
        for name in ("experiments", "results"):
            (here / name).symlink_to(SOURCE / name)
        (here / "bin").mkdir()
        (here / "bin/penstock").symlink_to(PENSTOCK)
        environment = os.environ | {"PATH": f"{here / 'bin'}:{os.environ['PATH']}"}
        for line in lines:
            ran = subprocess.run(["bash", "-eu", "-c", line], cwd=here, env=environment, capture_output=True, text=True)
            expect(ran.returncode == 0, f"{page}: {line}: exit code {ran.returncode}\n{ran.stderr[-1000:]}")


def check_planners() -> None:
    """docs/planners.md has every planner: a section with its limits, cost and source, and a row of each table."""
    text = text_of("docs/planners.md")
    table = re.split(r"^-[- ]*\n", penstock("planners"), maxsplit=1, flags=re.MULTILINE)[-1].partition("\n\n")[0]
    names = re.findall(r"^(\w+) ", table, re.MULTILINE)
    expect(len(names) >= 20, f"penstock planners lists {len(names)} planners")
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    expect(list(sections) == names, f"docs/planners.md has sections {list(sections)}, the program has {names}")
    decides = text.partition("## Decisions of each planner")[2].partition("## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|", decides, re.MULTILINE)
    expect(rows == names, f"the table of docs/planners.md has {rows}")
    for name, section in sections.items():
        for word in ("Limits:", "Cost:", "Source:"):
            expect(word in section, f"docs/planners.md: {name} does not state its {word[:-1].lower()}")
        for option, _ in re.findall(r"--option (\w+)=(\w+)", section):
            expect(re.search(rf"^\s+{option}\b", penstock("planners", name), re.MULTILINE), f"docs/planners.md: {name} has no option {option}")


def check_exit_codes() -> None:
    listed = HELP.text(()).partition("Exit codes:")[2]
    codes = re.findall(r"(?:^|[;,]|\n)\s*(\d+) ", listed)
    rows = re.findall(r"^\| (\d+) \|", text_of("docs/site/exit_codes.md"), re.MULTILINE)
    expect(len(codes) >= 10 and codes == rows, f"exit codes {codes}, the page has {rows}")


def check_figures() -> None:
    """The tables of docs/trust.md are those of results/published."""
    text = text_of("docs/trust.md")
    with (SOURCE / "results/published/curves/devices.csv").open() as file:
        devices = list(csv.DictReader(file))
    rows = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \| ([\d.]+) % \|$", text, re.MULTILINE)
    stated = {(name.lower(), runs, sets, error) for name, runs, sets, error in rows}
    printed = {(row["device"], row["runs"], row["sets"], f"{100 * float(row['mean_error']) + 1e-9:.1f}") for row in devices}
    expect(stated == printed, f"docs/trust.md states {stated ^ printed} otherwise than devices.csv")
    curves = [row for row in devices if row["device"] != "gh200"]
    expect(f"{sum(int(row['runs']) for row in curves)} runs on" in text, "docs/trust.md counts other runs than devices.csv")
    with (SOURCE / "results/published/a100_tables/errors.csv").open() as file:
        fitted = next(row for row in csv.DictReader(file)
                      if row["set"] == "vtrain_single" and row["costs"] == "and one constant per cluster and set")
    for word in (f"{100 * float(fitted['mean']):.1f} %", f"{100 * float(fitted['worst']):.1f} %", f"{fitted['runs']} runs"):
        expect(word in text, f"docs/trust.md does not state {word}")


def check_reachable() -> None:
    """Each page of docs is on the site, and docs/README.md links all pages of the site but those of file formats."""
    known = site.site_pages()
    for file in sorted((SOURCE / "docs").rglob("*.md")):
        page = file.relative_to(SOURCE).as_posix()
        expect(page in known or page in OUTSIDE, f"{page} is in no list of a section")
    linked = {site.resolved(site.START, target) for _, target in site.LINK.findall(text_of(site.START))}
    for page in known:
        expect(page in linked or page == site.START or page.startswith("docs/formats/"), f"{site.START} does not link {page}")
    for page in known:
        try:
            site.site_text(page, text_of(page), set(known))
        except ValueError as wrong:
            expect(False, str(wrong))


def check_itself() -> None:
    """The checks above find what is wrong."""
    expect(HELP.fault(["plan", "--no-such"]) == "'penstock plan' has no option --no-such", "an unknown option passes")
    expect(HELP.fault(["plam"]) == "no command 'plam'", "an unknown command passes")
    expect(HELP.fault(["calibrate", "fit", "runs.csv", "-o", "x"]) is None, "a known command is refused")
    expect(invocations("penstock a --b 1 && x | penstock c") == [["a", "--b", "1"], ["c"]], "commands are not taken apart")
    expect(lines_of("x\n$ penstock a \\\n   b\nbuild/src/cli/penstock c\n") == ["penstock a  b", "penstock c"], "lines are not found")


def check_links() -> None:
    """check_site finds what a built site lacks, and site_text leads links to what the site has."""
    with tempfile.TemporaryDirectory() as scratch:
        here = pathlib.Path(scratch)
        names = ", ".join(f'"{page.removesuffix(".md")}"' for page in site.site_pages()[1:])
        (here / "searchindex.js").write_text(f'Search.setIndex({{"docnames": [{names}]}})')
        (here / "a.html").write_text('<h1 id="one">A</h1><a href="b.html#two">b</a><a href="#one">a</a><a href="https://example.org">x</a>')
        (here / "b.html").write_text('<a href="a.html#two">a</a><a href="c.html">c</a><script src="https://example.org/x.js"></script>')
        found = check_site.faults(here)
    expect(found == ["a.html: b.html#two has no such anchor", "b.html: loads https://example.org/x.js from the network",
                     "b.html: a.html#two has no such anchor", "b.html: c.html does not exist",
                     f"{site.START}: the search does not know it"], f"check_site finds {found}")
    known = {"docs/a.md", "docs/b.md", "results/x/README.md"}
    text = site.site_text("docs/a.md", "[b](b.md#c) [x](../results/joint) [y](../experiments/joint.yaml)\n```\n[z](none.md)\n```\n", known)
    expect(text == "[b](b.md#c) [x](path:../results/joint/table.txt) [y](path:../experiments/joint.yaml)\n```\n[z](none.md)\n```\n",
           f"links become {text}")
    folder = site.site_text("docs/a.md", "[s](../tests/golden/) [x](../tests/golden)", known)
    expect(folder == "s x", f"links to folders without a page become {folder}")
    try:
        site.site_text("docs/a.md", "[z](none.md)", known)
        expect(False, "a link to a missing file passes")
    except ValueError as wrong:
        expect("docs/a.md: links to none.md, which does not exist" in str(wrong), f"a missing file is named as {wrong}")


check_itself()
check_links()
count = check_commands()
expect(count >= 150, f"only {count} commands are on the pages")
check_planners()
check_exit_codes()
check_figures()
check_reachable()
print(f"{count} commands")
sys.exit(1 if failures else 0)
