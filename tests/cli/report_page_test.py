#!/usr/bin/env python3
"""The page of `penstock report` in a headless browser: it draws, sorts, zooms, prints, and stays quick.

    report_page_test.py PENSTOCK SOURCE_ROOT
"""

import base64
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import browser

SKIPPED = 77  # Meson's exit code for it
EXPERIMENT = """experiment: small
models: [{{name: candle_uno, mini_batch: [64]}}]
clusters: [{{file: {root}/experiments/clusters/summit.yaml, devices: [2, 4]}}]
summary: small & short
planners: [data_parallel, graphpipe]
"""
STUDY = """experiment: study
summary: three schedules
schedules: [1f1b, zb_h1, zb_2p]
pipelines:
  - {{name: p, ranks: [4], micro_batches: [8, 16], forward: 10ms, input_gradient: 9ms, weight_gradient: 5ms, latency: 1ms}}
"""
VALIDATION = """plan,measured_s,measured_low_s,measured_high_s,simulated_s,error
small,0.010,0.009,0.012,0.0105,0.05
large,0.500,0.490,0.520,0.450,-0.1
"""
READY = "document.body.dataset.ready"
KINDS = "[...new Set([...document.querySelectorAll('.timeline g path:not(.path):not(.hatch)')].map((path) => '.timeline .' + path.classList[0]))]"
WAIT = """new Promise((done, fail) => {{ let tries = 0; const look = () => {{
  if ({0}) done(true); else if (tries++ > 1000) fail(new Error('never: ' + {0!r})); else setTimeout(look, 20); }}; look(); }})"""


def check(holds, what):
    if not holds:
        raise AssertionError(what)


def report(penstock, folder, *flags):
    """From another folder than the results': paths in plans do not depend on the current folder."""
    subprocess.run([penstock, "report", str(folder), *flags], check=True, stdout=subprocess.DEVNULL, cwd="/")
    return (folder / "report.html").as_uri()


def show(page, address):
    page.open(address)
    page.run(WAIT.format(READY))


def make_results(penstock, root, folder):
    experiment = folder / "small.yaml"
    experiment.write_text(EXPERIMENT.format(root=root))
    results = folder / "results"
    subprocess.run([penstock, "run", str(experiment), "-o", str(results)], check=True, capture_output=True)
    (results / "validation.csv").write_text(VALIDATION)
    return results


def multiply(results, folder, count):
    """Cells as many as requested, each a copy of one plan under another planner's name."""
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


def column(name):
    """Cells of one column of the table, as shown."""
    return ("(() => { const heads = [...document.querySelectorAll('#results th')].map((head) => head.dataset.name);"
            f" return [...document.querySelectorAll('#results tbody tr:not(.reason)')].map((row) => row.cells[heads.indexOf('{name}')].textContent); }})()")


def head(name):
    return f"document.querySelector('#results th[data-name={name}] button')"


def check_first_things(page):
    top = "document.querySelector('header').innerText"
    check("is fastest, or equal, on 2 of 2 problems" in page.run(top), "the headline stands first")
    check("small & short" in page.run(top).lower(), "and what the experiment is about")
    check(page.run("[...document.querySelectorAll('main > section:not([hidden]) h2')].map((h) => h.textContent).join()")
          == "Measured against simulated,Compared,Results,Planners over all problems,Row by row", "then charts, then the table")


def check_table(page):
    check(len(page.run(column("model"))) == 4, "one row per cell")
    page.run(head("samples_per_s") + ".click()")
    rising = [float(x) for x in page.run(column("samples_per_s"))]
    check(rising == sorted(rising) and len(set(rising)) > 1, "a press on the head sorts rising")
    check(page.run("document.activeElement === " + head("samples_per_s")), "the head keeps the focus")
    page.press("Enter")
    check([float(x) for x in page.run(column("samples_per_s"))] == rising[::-1], "Enter on the same head sorts falling")
    check(page.run("document.querySelector('#results th[data-name=samples_per_s]').getAttribute('aria-sort')") == "descending", "and says so")
    page.run("document.getElementById('filter').value = 'graphpipe'; document.getElementById('filter').dispatchEvent(new Event('input'))")
    check(page.run(column("planner")) == ["graphpipe"] * 2, "words narrow the table")
    check("2 of 4 rows" in page.run("document.getElementById('shown').textContent"), "and say so")


def check_widths(page):
    """At each width the columns that matter are in view, and nothing reaches beyond the page."""
    for width, least in ((1400, 12), (900, 8), (390, 4)):
        for dark in (False, True):
            page.screen(width, 900, dark)
            page.run("new Promise((done) => setTimeout(done, 200))")
            check(page.run("document.documentElement.scrollWidth") <= width, f"at {width} pixels the page need not scroll sideways")
            check(page.run("document.getElementById('results').scrollWidth <= document.getElementById('results').parentElement.clientWidth"),
                  f"at {width} pixels neither need the table")
            heads = page.run("[...document.querySelectorAll('#results th')].map((head) => head.dataset.name)")
            check({"model", "planner", "samples_per_s"} <= set(heads) and len(heads) >= least, f"at {width} pixels: {heads}")
    page.screen(1280, 900)


def check_long_names(page, penstock, root, folder):
    """A choice among settings with long names is no wider than a phone."""
    shutil.copytree(pathlib.Path(root) / "results" / "graphpipe_conditions", folder / "long")
    show(page, report(penstock, folder / "long"))
    page.screen(390, 900)
    page.run("new Promise((done) => setTimeout(done, 200))")
    check(page.run("document.documentElement.scrollWidth") <= 390, "long names do not widen the page")
    page.screen(1280, 900)


def check_charts(page):
    titles = page.run("[...document.querySelectorAll('#charts figure h3')].map((h) => h.textContent)")
    check(titles == ["Throughput, samples/s, over devices", "Memory against time, 4 devices", "Search time, logarithmic, over devices"],
          f"three charts: {titles}")
    check(page.run("document.querySelectorAll('#charts figure:first-of-type .series').length") == 2, "a line for each planner")
    check(page.run("document.querySelectorAll('#charts figure:first-of-type .marker').length") == 4, "a point for each plan")
    check(page.run("document.querySelectorAll('#charts .front').length") == 1, "the Pareto front is drawn")
    check(page.run("document.querySelectorAll('#validation circle').length") == 2, "a dot per validated plan")


def check_failure(page, penstock, results, folder):
    """A row without a plan shows why, in the table."""
    told = json.loads((results / "results.json").read_text())
    told["results"][0].update({"status": "infeasible: no stage fits", "samples_per_s": None, "iteration_s": None})
    (folder / "failed").mkdir()
    (folder / "failed" / "results.json").write_text(json.dumps(told))
    (folder / "failed" / "provenance.json").write_bytes((results / "provenance.json").read_bytes())
    for width in (1280, 390):
        page.screen(width, 900)
        show(page, report(penstock, folder / "failed"))
        check(page.run("document.querySelector('#results .reason').textContent") == "infeasible: no stage fits", "the reason is in view")
    check("penstock run" in page.run("document.querySelector('#cells .note').textContent"), "a folder without plans says how to get them")
    page.screen(1280, 900)


def check_study(page, penstock, folder):
    (folder / "study.yaml").write_text(STUDY.format())
    subprocess.run([penstock, "run", str(folder / "study.yaml"), "-o", str(folder / "study")], check=True, capture_output=True)
    show(page, report(penstock, folder / "study"))
    check(page.run("document.querySelector('.headline').textContent") == "zb_2p has the smallest bubble, or the same, on 2 of 2 pipelines.",
          "a study of schedules has a headline")
    check(page.run("document.querySelector('.summary').textContent") == "three schedules", "and its summary")
    check(page.run("document.querySelectorAll('#charts .marker').length") > 6, "charts")
    check(len(page.run(column("schedule"))) == 6, "a table")
    page.run("document.querySelector('#results a').click()")
    page.run(WAIT.format("document.querySelector('#cell-0[open] dd')"))


def check_section(page):
    """The second plan is opened by its link, drawn, and zoomed in every way."""
    check(page.run("document.querySelectorAll('.timeline').length") == 0, "nothing is drawn before it is asked for")
    page.run("document.querySelector('#results a[href=\"#cell-1\"]').click()")
    page.run(WAIT.format("document.querySelector('#cell-1 .timeline .forward')"))
    for part in (".stage", ".edge", ".backward", ".held", ".fixed", ".path", ".bar", ".waterfall", "table", ".names", ".values"):
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


def check_fold(page):
    """Replicas with equal work are one lane."""
    names = "[...document.querySelectorAll('#cell-2 .timeline text')].map((text) => text.textContent).join('|')"
    page.run("location.hash = '#cell-2'")
    page.run(WAIT.format("document.querySelector('#cell-2 .timeline .forward')"))
    check("4 alike" in page.run(names), f"four replicas are one lane: {page.run(names)}")
    check(page.run("document.querySelectorAll('#cell-2 .timeline .fixed').length") == 1, "drawn once")


def check_looks(page):
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.run(colour)
    page.screen(400, 900, dark=True)
    check(page.run(colour) != light, "dark mode has another background")
    check(page.run("document.documentElement.scrollWidth") <= 400, "opened plans need not scroll sideways either")
    page.screen(1280, 900)


def printed_pages(page):
    """How many pages the browser prints."""
    document = base64.b64decode(page.send("Page.printToPDF", printBackground=True)["data"])
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", document))


def check_print(page, penstock, root, folder, address):
    """On paper: charts and tables; of the rows' own sections those that a reader opened."""
    show(page, address.split("#")[0])
    check(printed_pages(page) <= 2, "a small page is printed on two")
    check(page.run("document.getElementById('results').tHead.rows[0].cells.length") >= 12, "the screen has its columns again")
    check(page.run("document.querySelectorAll('.timeline').length") == 0, "printing opens nothing")
    page.send("Emulation.setEmulatedMedia", media="print")
    check(page.run("getComputedStyle(document.getElementById('cells')).display") == "none", "closed rows are left out")
    check(page.run("getComputedStyle(document.querySelector('#results thead')).display") == "table-header-group", "each page repeats the heads")
    page.run("location.hash = '#cell-0'")
    page.run(WAIT.format("document.querySelector('#cell-0 .timeline .forward')"))
    check(page.run("[...document.querySelectorAll('#opened > details')].filter((one) => getComputedStyle(one).display !== 'none').length") == 1,
          "an open row is printed, alone")
    check(page.run("document.querySelectorAll('#cell-0 .timeline .all_reduce').length > 0"), "all-reduces are drawn")
    check(page.run(f"{KINDS}.every((kind) => getComputedStyle(document.querySelector(kind)).fill !== 'rgb(0, 0, 0)')"),
          "every kind of task has a colour")
    page.send("Emulation.setEmulatedMedia", media="")
    shutil.copytree(pathlib.Path(root) / "results" / "quickstart", folder / "quickstart")
    show(page, report(penstock, folder / "quickstart", "--baseline", "spp"))
    pages = printed_pages(page)
    check(pages <= 10, f"the quickstart is printed on ten pages at most, not {pages}")
    ratios = dict(zip(page.run(column("planner")), page.run(column("ratio"))))
    check(ratios["spp"] == "-" and re.fullmatch(r"\d\.\d\dx", ratios["graphpipe"]), f"the table has ratios to the baseline: {ratios}")
    check("side by side" in page.run("document.querySelector('#charts figure:last-of-type figcaption').textContent"),
          "search times of cells side by side say so")


def check_answers(page, penstock, root, folder):
    """Pages of `plan` and `compare`."""
    problem = ["--model", "case_study", "--cluster", f"{root}/experiments/clusters/summit.yaml", "--devices", "4", "--mini-batch", "32"]
    for name, command in (("plan", ["plan", *problem, "--planner", "graphpipe"]), ("compare", ["compare", *problem, "--planners", "spp,graphpipe"])):
        subprocess.run([penstock, *command, "--page", str(folder / f"{name}.html")], check=True, capture_output=True)
    show(page, (folder / "plan.html").as_uri())
    check(page.run("document.querySelectorAll('.timeline .forward').length > 0"), "the page of one plan is open")
    check(page.run("[...document.querySelectorAll('main > section:not([hidden]) h2')].map((h) => h.textContent).join()") == "Row by row", "and has nothing else")
    check("samples/s" in page.run("document.querySelector('.headline').textContent"), "its headline says how fast it is")
    show(page, (folder / "compare.html").as_uri())
    check(sorted(page.run(column("planner"))) == ["graphpipe", "spp"], "a comparison has its rows")
    check(page.run("document.querySelectorAll('script[id^=data-]').length") == 2, "and drawings of every plan")


def check_speed(page, address, count):
    def seconds():
        return {m["name"]: m["value"] for m in page.send("Performance.getMetrics")["metrics"]}["ProcessTime"]

    page.open("about:blank")
    page.send("Performance.enable", timeDomain="timeTicks")
    before = seconds()
    show(page, address)
    check(page.run("document.querySelectorAll('script[id^=data-]').length") == count, "every cell has its data")
    check(page.run("document.querySelectorAll('#results tbody tr').length") == 100, "a hundred rows are shown")
    check(page.run("document.querySelectorAll('.timeline').length") == 0, "none is drawn")
    check(page.run("document.querySelectorAll('mark').length") == 0, "names are text, not elements")
    check(page.run(column("planner"))[0] == "<mark>0</script>", "and are whole")
    spent = seconds() - before
    print(f"{count} cells load in {spent:.2f} s of processor time")
    check(spent < 2, "a large page loads in less than 2 s of processor time")
    page.run("location.hash = '#cell-1999'")
    page.run(WAIT.format("document.querySelector('#cell-1999 .timeline .forward')"))
    page.run("document.getElementById('more').click()")
    check(page.run("document.querySelectorAll('#results tbody tr').length") == 200, "more when asked for")


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
            show(page, address)
            check_first_things(page)
            check_charts(page)
            check_widths(page)
            check_table(page)
            check_section(page)
            check_fold(page)
            check_looks(page)
            check_print(page, penstock, root, folder, address)
            check_answers(page, penstock, root, folder)
            check_failure(page, penstock, results, folder)
            check_study(page, penstock, folder)
            check_long_names(page, penstock, root, folder)
            check_speed(page, report(penstock, folder / "many"), 2000)
            check(not page.console, f"the console stays empty: {page.console}")
        finally:
            page.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]))
