#!/usr/bin/env python3
"""The page of `penstock report` in a headless browser: it draws, sorts, zooms, prints, and stays quick.

    report_page_test.py PENSTOCK SOURCE_ROOT
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import browser

SKIPPED = 77  # Meson's exit code for it
EXPERIMENT = """experiment: small
models: [{{name: case_study, mini_batch: [32]}}]
clusters: [{{file: {root}/experiments/clusters/summit.yaml, devices: [2, 4]}}]
planners: [data_parallel, graphpipe]
"""
VALIDATION = """plan,measured_s,measured_low_s,measured_high_s,simulated_s,error
small,0.010,0.009,0.012,0.0105,0.05
large,0.500,0.490,0.520,0.450,-0.1
"""
KINDS = "[...new Set([...document.querySelectorAll('.timeline g path:not(.path):not(.hatch)')].map((path) => '.timeline .' + path.classList[0]))]"
THROUGHPUT = "[...document.querySelectorAll('#results tbody tr')].map((row) => Number(row.cells[5].dataset.value))"
WAIT = """new Promise((done, fail) => {{ let tries = 0; const look = () => {{
  if ({0}) done(true); else if (tries++ > 1000) fail(new Error('never: ' + {0!r})); else setTimeout(look, 20); }}; look(); }})"""


def check(holds, what):
    if not holds:
        raise AssertionError(what)


def report(penstock, folder, *flags):
    subprocess.run([penstock, "report", str(folder), *flags], check=True, stdout=subprocess.DEVNULL)
    return (folder / "report.html").as_uri()


def make_results(penstock, root, folder):
    experiment = folder / "small.yaml"
    experiment.write_text(EXPERIMENT.format(root=root))
    results = folder / "results"
    subprocess.run([penstock, "run", str(experiment), "-o", str(results)], check=True, capture_output=True)
    (results / "validation.csv").write_text(VALIDATION)
    return results


def multiply(results, folder, count):
    """As many cells as asked for, each a copy of one plan under another planner's name."""
    told = json.loads((results / "results.json").read_text())
    row = told["results"][-1]
    plan = next(path for path in (results / "plans").iterdir() if f"-{row['devices']}-{row['planner']}-" in path.name).read_text()
    check(f"planner: {row['planner']}\n" in plan, "a plan file names its planner")
    (folder / "plans").mkdir(parents=True)
    told["results"] = []
    for i in range(count):
        name = f"<mark>{i}</script>"  # nothing of a name may become an element
        told["results"].append({**row, "planner": name, "samples_per_s": row["samples_per_s"] * (1 + i * 7919 % count)})
        (folder / "plans" / f"{i}.yaml").write_text(plan.replace(f"planner: {row['planner']}\n", f"planner: {json.dumps(name)}\n"))
    (folder / "results.json").write_text(json.dumps(told))
    (folder / "provenance.json").write_bytes((results / "provenance.json").read_bytes())


def check_table(page):
    check(page.run(f"{THROUGHPUT}.length") == 4, "one row per cell")
    page.run("document.querySelectorAll('#results th button')[5].click()")
    rising = page.run(THROUGHPUT)
    check(rising == sorted(rising) and len(set(rising)) > 1, "a press on the head sorts rising")
    page.run("document.querySelectorAll('#results th button')[5].focus()")
    page.press("Enter")
    check(page.run(THROUGHPUT) == rising[::-1], "Enter on the same head sorts falling")
    check(page.run("document.querySelectorAll('#results th')[5].getAttribute('aria-sort')") == "descending", "and says so")
    page.run("document.getElementById('filter').value = 'graphpipe'; document.getElementById('filter').dispatchEvent(new Event('input'))")
    check(page.run("[...document.querySelectorAll('#results tbody tr')].filter((row) => !row.hidden).length") == 2, "words narrow the table")


def check_charts(page):
    check(page.run("document.querySelectorAll('#planners .panels > div').length") == 4, "four charts of planners")
    check(page.run("document.querySelectorAll('#planners .bar').length") == 8, "two planners in each")
    check(page.run("document.querySelectorAll('#validation circle').length") == 2, "a dot per validated plan")


def check_section(page):
    """The second plan is opened by its link, drawn, and zoomed in every way."""
    check(page.run("document.querySelectorAll('.timeline').length") == 0, "nothing is drawn before it is asked for")
    page.run("document.querySelector('#results a[href=\"#cell-1\"]').click()")
    page.run(WAIT.format("document.querySelector('#cell-1 .timeline .forward')"))
    for part in (".stage", ".edge", ".backward", ".held", ".fixed", ".path", ".bar", "table"):
        check(page.run(f"document.querySelectorAll('#cell-1 {part}').length > 0"), f"{part} is drawn")
    numbers = "[...document.querySelectorAll('#cell-1 .timeline .inside')].map((text) => text.textContent)"
    check("0" in page.run(numbers), "micro-batches have their numbers")
    ticks = "[...document.querySelectorAll('#cell-1 .timeline text.quiet.middle')].map((text) => text.textContent).join()"
    seen = [page.run(ticks)]

    def changed(how):
        page.run(WAIT.format(f"({ticks}) !== {json.dumps(seen[-1])}"))
        check(page.run(ticks) not in seen, how + " shows another stretch of time")
        seen.append(page.run(ticks))

    page.run("document.querySelector('#cell-1 button[title=\"zoom in\"]').click()")
    changed("a button")
    page.run("document.querySelector('#cell-1 .timeline').focus()")
    page.press("+")
    changed("a key")
    x, y = page.run("(() => { const drawing = document.querySelector('#cell-1 .timeline'); drawing.scrollIntoView(); const box = drawing.getBoundingClientRect(); return [box.x + box.width / 2, box.y + 30]; })()")
    page.wheel(x, y, -1000, control=True)
    changed("the wheel")
    page.press("0")
    page.run(WAIT.format(f"({ticks}) === {json.dumps(seen[0])}"))


def check_looks(page):
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.run(colour)
    page.screen(400, 900, dark=True)
    check(page.run(colour) != light, "dark mode has another background")
    check(page.run("document.documentElement.scrollWidth") <= 400, "a narrow screen need not scroll sideways")
    page.screen(1280, 900)


def check_print(page, address):
    page.open(address)
    page.run(WAIT.format("[...document.querySelectorAll('#cells details')].every((d) => !d.open)"))
    page.run("new Promise((done) => setTimeout(done, 300))")
    page.send("Page.printToPDF")
    check(page.run("document.querySelectorAll('.timeline').length") == 4, "printing draws every plan of a small page")
    check(page.run("document.querySelectorAll('#cell-0 .timeline .all_reduce').length > 0"), "all-reduces are drawn")
    check(page.run(f"{KINDS}.every((kind) => getComputedStyle(document.querySelector(kind)).fill !== 'rgb(0, 0, 0)')"),
          "every kind of task has a colour")


def check_speed(page, address, count):
    def seconds():
        return {m["name"]: m["value"] for m in page.send("Performance.getMetrics")["metrics"]}["ProcessTime"]

    page.open("about:blank")
    page.send("Performance.enable", timeDomain="timeTicks")
    before = seconds()
    page.open(address)
    check(page.run("document.querySelectorAll('#cells details script').length") == count, "every cell has its data")
    check(page.run("document.querySelectorAll('.timeline').length") == 0, "none is drawn")
    check(page.run("document.querySelectorAll('mark').length") == 0, "names are text, not elements")
    check(page.run("document.querySelector('#results td:nth-child(5)').textContent") == "<mark>0</script>", "and are whole")
    spent = seconds() - before
    print(f"{count} cells load in {spent:.2f} s of processor time")
    check(spent < 2, "a large page loads in less than 2 s of processor time")
    page.run("location.hash = '#cell-1999'")
    page.run(WAIT.format("document.querySelector('#cell-1999 .timeline .forward')"))


def main(penstock, root):
    path = browser.find()
    if not path:
        print("skipped: needs a browser, one of " + ", ".join(browser.NAMES))
        return SKIPPED
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        results = make_results(penstock, root, folder)
        address = report(penstock, results)
        multiply(results, folder / "many", 2000)
        page = browser.Browser(path)
        try:
            page.screen(1280, 900)
            page.open(address)
            check_table(page)
            check_charts(page)
            check_section(page)
            check_looks(page)
            check_print(page, address)
            check_speed(page, report(penstock, folder / "many"), 2000)
            check(not page.console, f"the console stays empty: {page.console}")
        finally:
            page.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
