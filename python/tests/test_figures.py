"""Every figure is the program's own, to the last digit."""

import csv
import io
import json

import penstock as ps
import pytest

CONFIG = "tests/frameworks/configs/llama3_70b.json"
#: Parts that depend on the machine and the day.
MEASURED = ("search_s", "judging_s", "search_memory_bytes")


def same_every_time(figures: dict) -> dict:
    return {key: value for key, value in figures.items() if key not in MEASURED}


@pytest.fixture(scope="module")
def found():
    problem = ps.Problem(ps.zoo("mmt", branches=2), ps.Cluster("summit", 4), 32, optimizer="adam")
    return ps.plan(problem, "graphpipe")


def stated_apart(text: str) -> list[str]:
    """All lines but the one of assumptions, which names options here and keywords there."""
    return [line for line in text.splitlines() if not line.startswith(("assumed: ", "given: "))]


PROBLEM = ("--model", "mmt", "-p", "branches=2", "--cluster", "summit", "--devices", 4, "--mini-batch", 32, "--optimizer", "adam")


def test_joint_searches_where_nobody_is_named(found, cli, tmp_path):
    plan = ps.plan(found.problem)
    cli("plan", *PROBLEM, "-o", tmp_path / "plan.yaml")
    assert plan.planner == "joint" and plan.to_yaml() == (tmp_path / "plan.yaml").read_text()


def test_a_plan_and_its_figures_are_those_of_penstock_plan(found, cli, tmp_path):
    file = tmp_path / "plan.yaml"
    printed = cli("plan", *PROBLEM, "--planner", "graphpipe", "-o", file, "--json")
    assert found.to_yaml() == file.read_text()
    assert same_every_time(json.loads(found.simulation.to_json())) == same_every_time(json.loads(printed))


@pytest.mark.parametrize(
    "setting, flags",
    [
        ({}, []),
        ({"schedule": "gpipe"}, ["--schedule", "gpipe"]),
        ({"network": "fifo", "collective": "ring"}, ["--network", "fifo", "--collective", "ring"]),
        ({"pass_collectives": "links"}, ["--pass-collectives", "links"]),
        ({"verify": True, "explain": True}, ["--verify", "--explain"]),
        ({"communication": "in_order", "traffic": True}, ["--communication", "in_order", "--traffic"]),
        ({"what_if": "network=2x, mini_batch=2x"}, ["--what-if", "network=2x, mini_batch=2x"]),
    ],
)
def test_a_simulation_is_byte_for_byte_that_of_penstock_simulate(found, cli, tmp_path, setting, flags):
    file, svg = tmp_path / "plan.yaml", tmp_path / "timeline.svg"
    found.save(file.as_posix())
    simulation = ps.simulate(ps.load(file), **setting)
    assert simulation.to_json() == cli("simulate", file, *flags, "--json")
    assert stated_apart(str(simulation)) == stated_apart(cli("simulate", file, *flags, "--columns", "all"))
    if not flags:
        cli("simulate", file, "--svg", svg)
        assert simulation.svg() == svg.read_text()


def test_a_waterfall_is_that_of_explain_and_sums(found):
    waterfall = ps.simulate(found).waterfall
    assert waterfall == json.loads(ps.simulate(found, explain=True).to_json())["explain"]["waterfall"]
    assert sum(part["time_ps"] for part in waterfall["parts"]) == waterfall["iteration_ps"]


def test_sentences_are_those_of_penstock_explain(found, cli, tmp_path):
    found.save((tmp_path / "plan.yaml").as_posix())
    printed = json.loads(cli("explain", tmp_path / "plan.yaml", "--json"))["sentences"]
    assert ps.explain(found) == {each["about"]: each["words"] for each in printed}


def test_traffic_is_a_value(found):
    ranks = ps.simulate(found, traffic=True).traffic
    assert len(ranks) > 0 and sum(row["count"] for rank in ranks for row in rank["rows"]) > 0
    assert ps.simulate(found).traffic == []


def test_changes_and_next_best_plans_are_values(found, cli, tmp_path):
    rows = ps.simulate(found, what_if="network=2x, devices=3").what_if
    assert [row["change"] for row in rows] == ["today", "network=2x", "devices=3", "all"] and ps.simulate(found).what_if == []
    with pytest.raises(ps.BadInput, match="what-if key"):
        ps.simulate(found, what_if="colour=2x")
    problem = ps.Problem(ps.zoo("mmt", branches=2), ps.Cluster("summit", 4), 32, optimizer="adam")
    best = ps.plan(problem, "megatron", top=3).simulation.next_best
    assert best == json.loads(cli("plan", *PROBLEM, "--planner", "megatron", "--top", 3, "--json"))["next_best"]
    assert 0 < len(best) <= 2


def test_a_plan_near_another_is_that_of_penstock_improve(found, cli, tmp_path):
    file, better = tmp_path / "plan.yaml", tmp_path / "better.yaml"
    found.save(file.as_posix())
    cli("improve", file, "--evaluations", 50, "-o", better)
    near = ps.improve(ps.load(file), evaluations=50)
    assert near.to_yaml() == better.read_text()
    assert near.simulation.row.iteration_s <= found.simulation.row.iteration_s


def test_a_comparison_is_that_of_penstock_compare(cli, tmp_path):
    file = tmp_path / "table.csv"
    planners = "graphpipe,spp,piper:flush=true,data_parallel"
    cli("compare", *PROBLEM, "--planners", planners, "--csv", file)
    problem = ps.Problem(ps.zoo("mmt", branches=2), ps.Cluster("summit", 4), 32, optimizer="adam")
    table = ps.compare(problem, planners.split(","))
    ours, theirs = (
        [same_every_time(row) for row in csv.DictReader(io.StringIO(text))] for text in (table.to_csv(), file.read_text())
    )
    assert ours == theirs and len(ours) == 4
    assert [str(row.samples_per_s) for row in table.rows] == [row["samples_per_s"] for row in theirs]


DAY = "experiments/imperfect/bad_day.yaml"
PRICED = ("--model", "mmt", "-p", "branches=2", "--cluster", "p3_16xlarge", "--devices", 4, "--mini-batch", 32)


@pytest.mark.parametrize(
    "aim, flags",
    [
        ({"aim": "p95", "perturbation": DAY, "seed": 3, "seeds": 5}, ["--perturbation", DAY, "--seed", 3, "--seeds", 5]),
        ({"aim": "memory", "slower": 50}, ["--slower", 50]),
        ({"aim": "cost"}, []),
    ],
)
def test_an_aim_is_that_of_the_command_line(cli, tmp_path, aim, flags):
    joint, file, table = "joint:evaluations=100:starts=direct", tmp_path / "plan.yaml", tmp_path / "table.csv"
    flags = ["--aim", aim["aim"], *flags]
    options = [word for option in joint.split(":")[1:] for word in ("--option", option)]
    printed = json.loads(cli("plan", *PRICED, *options, *flags, "-o", file, "--json"))
    problem = ps.Problem(ps.zoo("mmt", branches=2), ps.Cluster("p3_16xlarge", 4), 32)
    plan = ps.plan(problem, joint, **aim)
    assert plan.to_yaml() == file.read_text()
    assert plan.simulation.reached.aim == aim["aim"] and plan.simulation.reached.value == printed["aim"]["value"]
    assert str(plan.simulation.reached) == printed["aim"]["words"]
    assert same_every_time(json.loads(plan.simulation.to_json())) == same_every_time(printed)
    assert ps.simulate(plan).iteration_s == plan.simulation.iteration_s  # on the devices that it uses

    cli("compare", *PRICED, "--planners", f"spp,{joint}", *flags, "--csv", table)
    found = ps.compare(problem, ["spp", joint], **aim)
    ours, theirs = (
        [same_every_time(row) for row in csv.DictReader(io.StringIO(text))] for text in (found.to_csv(), table.read_text())
    )
    assert ours == theirs and [float(row["aim_value"]) for row in ours] == [reached.value for reached in found.reached]
    assert f"aim: {aim['aim']}" in str(found)


def test_an_improved_plan_may_have_an_aim_too(found):
    near = ps.improve(found, aim="memory", slower=20, evaluations=50)
    assert near.simulation.reached.value <= found.simulation.peak_memory_bytes
    assert near.simulation.iteration_s <= found.simulation.iteration_s * 1.2
    assert ps.improve(found, evaluations=50).simulation.reached is None


def test_a_hugging_face_config_becomes_megatrons_flags_as_on_the_command_line(cli, tmp_path):
    plan, nearest = tmp_path / "plan.yaml", tmp_path / "nearest.yaml"
    cli("plan", "--model", CONFIG, "-p", "sequence=8192", "--precision", "mixed_bf16", "--optimizer", "adam", "--gpus",
        "8xH100x12", "--mini-batch", 128, "--planner", "megatron", "--choose-by", "estimate", "-o", plan)  # fmt: skip
    flags = cli("export", plan, "--to", "megatron", "--nearest", nearest)
    problem = ps.Problem(
        ps.import_hf(CONFIG, sequence=8192), ps.Cluster("8xH100x12"), 128, precision="mixed_bf16", optimizer="adam"
    )
    runnable = ps.export(ps.plan(problem, "megatron", choose_by_estimate=True), to="megatron")
    assert runnable.text == flags and not runnable.refused
    found = ps.plan(problem, "megatron", choose_by_estimate=True, runnable_by="any")
    given = ps.export(found, to="megatron", nearest=True)
    assert given.text == flags
    assert given.refused and ("less" in given.nearest or "longer" in given.nearest)
    with pytest.raises(ps.InvalidPlan, match="cannot cut inside layer"):
        ps.export(found, to="megatron")


@pytest.mark.parametrize("times", [{}, {"latency": 0.1}, {"forward": "18ms", "latency": "1ms"}])
def test_a_schedule_is_byte_for_byte_that_of_penstock_schedule(cli, tmp_path, times):
    flags = [word for key, value in times.items() for word in (f"--{key}", value)]
    shape = ("schedule", "zbv", "--ranks", 4, "--microbatches", 8, *flags)
    zbv = ps.schedule("zbv", 4, 8, **times)
    assert zbv.to_json() == cli(*shape, "--json")
    assert str(zbv) == cli(*shape)
    cli(*shape, "--csv", tmp_path / "zbv.csv", "--svg", tmp_path / "zbv.svg")
    assert zbv.to_csv() == (tmp_path / "zbv.csv").read_text()
    assert zbv.svg() == (tmp_path / "zbv.svg").read_text()
    # The written file is a schedule again, with the same times.
    assert ps.schedule(tmp_path / "zbv.csv", **times).makespan == zbv.makespan


def test_lists_are_timed_and_drawn_as_the_file_of_them():
    zbv = ps.schedule("zbv", 4, 8, latency=0.1)
    rows = [[cell or None for cell in line.split(",")] for line in zbv.to_csv().splitlines()]
    same = ps.Schedule.from_lists(rows, name="zbv", latency=0.1)
    assert (same.makespan, same.bubble, same.peak_live) == (zbv.makespan, zbv.bubble, zbv.peak_live)
    assert same.svg() == zbv.svg() and same.to_csv() == zbv.to_csv()
    longer = ps.Schedule.from_lists(rows, forward=2, backward_input=1, backward_weight=1)
    assert longer.makespan > same.makespan


@pytest.mark.parametrize(
    "rows, error, message",
    [
        ([["0F0", "0B0"], ["1F0", "1X0"]], ps.BadInput, r"^rank 1: cell 1: expected an action"),
        ([["0F0", "0B0"], ["1F0", 7]], ps.BadInput, r"^rank 1: cell 1: expected an action .*, not 7"),
        ([["0F0,0B0"]], ps.BadInput, r"^rank 0: cell 0"),
        ([["0F0", "0B0"], []], ps.BadInput, r"^rank 1: expected at least one action"),
        ([], ps.BadInput, "at least one action"),
        ([["0F0", "0B0"], ["1B0", "1F0"]], ps.InvalidPlan, "not valid"),
    ],
)
def test_lists_that_are_no_schedule_are_refused(rows, error, message):
    with pytest.raises(error, match=message):
        ps.Schedule.from_lists(rows)


@pytest.mark.parametrize("format", ["csv", "json", "markdown", "latex", "text"])
@pytest.mark.parametrize("chosen", [{}, {"baseline": "graphpipe"}, {"columns": ["model", "devices", "ratio"], "baseline": "graphpipe"}])
def test_tables_of_a_results_folder_are_those_of_penstock_report(cli, format, chosen):
    options = [word for key, value in chosen.items() for word in (f"--{key}", value if isinstance(value, str) else ",".join(value))]
    if format == "text" and "columns" not in chosen:
        options += ["--columns", "all"]  # a screen has seven
    assert ps.report("results/quickstart", format, **chosen) == cli("report", "results/quickstart", "--format", format, *options)


def test_charts_are_those_of_penstock_report(cli, tmp_path):
    for quantity in ("throughput", "memory", "search_time"):
        cli("report", "results/quickstart", "--chart", str(tmp_path / "theirs.svg"), "--quantity", quantity)
        ours = ps.chart("results/quickstart", quantity, path=tmp_path / "ours.svg")
        assert (tmp_path / "theirs.svg").read_text() == (tmp_path / "ours.svg").read_text() == ours
    assert ps.chart("results/quickstart") == ps.chart("results/quickstart", "throughput")
    for wrong, message in [({"quantity": "speed"}, "quantity"), ({"path": tmp_path / "a.bmp"}, "a.bmp: expected a name that ends in .svg")]:
        with pytest.raises(ps.BadInput, match=message):
            ps.chart("results/quickstart", **wrong)


def test_comparisons_and_plans_have_pages_tables_and_charts(tmp_path):
    problem = ps.Problem(ps.zoo("mmt", branches=2), ps.Cluster("summit", 4), 64)
    table = ps.compare(problem, "spp:max_replicas=1,data_parallel")
    page = ps.report(table)
    assert "<!doctype html>" in page and problem.assumptions[len("assumed") :] in page.replace("&#39;", "'")
    assert table.assumptions == problem.assumptions and table.assumptions in str(table)
    slower = table.rows[1]
    csv = ps.report(table, "csv", columns=["planner", "ratio"], baseline="data_parallel").splitlines()
    assert csv[0] == "planner,ratio" and csv[1] == "data_parallel,"
    assert float(csv[2].split(",")[1]) == pytest.approx(slower.samples_per_s / table.rows[0].samples_per_s)
    assert '"assumptions"' in ps.report(table, "json")
    assert ps.chart(table).startswith("<svg") and ps.chart(table, "memory") != ps.chart(table)
    plan = ps.plan(problem, "spp", top=3)
    page = ps.report(plan)
    assert "<!doctype html>" in page and problem.assumptions[len("assumed") :] in page
    for wrong, message in [
        (lambda: ps.report(table, columns=["model"]), "columns: the page"),
        (lambda: ps.report(table, "text", columns=["speed"]), "columns: unknown column 'speed'"),
        (lambda: ps.report(table, "text", columns=["model", "ratio"]), "columns: "),
        (lambda: ps.report(table, "csv", baseline="megatron"), "baseline: "),
        (lambda: ps.report(plan, "csv"), "format: a plan has a page alone"),
        (lambda: ps.report(ps.Plan.from_stages(problem, [dict(operators=["x"], devices=[0], micro_batch=1)][:0])), "no simulation"),
    ]:
        with pytest.raises(ps.BadInput, match=message):
            wrong()


def test_results_have_the_page_of_their_folder(tmp_path):
    (tmp_path / "file.yaml").write_text(
        "experiment: mine\nmodels: [{name: mmt, parameters: {branches: 2}, mini_batch: [64]}]\n"
        "clusters: [{name: summit, devices: [4]}]\nplanners: [spp, data_parallel]\nbaseline: spp\n"
    )
    results = ps.run(tmp_path / "file.yaml", folder=tmp_path / "out")
    assert ps.report(results) == ps.report(tmp_path / "out")
    assert ps.report(results, "text", columns=["planner", "ratio"]) == ps.report(tmp_path / "out", "text", columns=["planner", "ratio"])
    assert ps.chart(results) == ps.chart(tmp_path / "out")


def test_a_front_of_a_comparison_says_what_it_assumes():
    problem = ps.Problem(ps.zoo("mmt", branches=2), ps.Cluster("summit", 4), 64)
    table = ps.compare(problem, "spp:max_replicas=1,data_parallel")
    front = ps.pareto(table)
    assert list(front) == list(ps.pareto(table.rows)) and front.assumptions == problem.assumptions
    assert str(front).endswith(problem.assumptions + "\n") and "data_parallel" in str(front)
    assert ps.pareto(table.rows).assumptions == ""


def test_pareto_keeps_what_no_other_beats():
    """Against the definition, row by row; the first of two equal ones; 2 devices are beaten by none of 4."""
    rows = []
    for devices in (2, 4):
        problem = ps.Problem(ps.zoo("mmt", branches=2), ps.Cluster("summit", devices), 64)
        for size in (1, 4, 16):
            rows += ps.compare(problem, "spp,graphpipe,data_parallel", micro_batch=size).rows
    rows += rows[:4]
    rows += ps.compare(ps.Problem(ps.zoo("llama", size="llama3-70b"), ps.Cluster("summit", 2), 64), "gpipe_equal").rows
    best = ps.pareto(iter(rows))

    def worth(row: ps.Row) -> tuple[float, float, float]:
        return (-row.devices, -row.peak_memory_bytes, row.samples_per_s)

    assert 1 < len(best) < len(rows) and len({worth(row) for row in best}) == len(best)
    for row in rows[:-1]:
        beaten = any(worth(row) != worth(other) and all(a <= b for a, b in zip(worth(row), worth(other))) for other in rows[:-1])
        assert beaten != (worth(row) in map(worth, best))
    assert {row.devices for row in best} == {2, 4}
    (fastest,) = ps.pareto(rows, least=())
    assert fastest.samples_per_s == max(row.samples_per_s or 0 for row in rows)
    with pytest.raises(ps.BadInput, match="price"):
        ps.pareto(rows, least=("price",))


def test_one_iteration_adds_up(found):
    """4 devices, 32 samples: throughput is 32 by the iteration; spans end with it; the fullest device is the peak."""
    simulation = found.simulation
    assert simulation.samples_per_s == pytest.approx(32 / simulation.iteration_s, rel=1e-12)
    spans = list(csv.DictReader(io.StringIO(simulation.to_csv())))
    assert max(float(span["end_s"]) for span in spans) == pytest.approx(simulation.iteration_s, rel=1e-12)
    assert max(simulation.device_peak_bytes) == simulation.peak_memory_bytes
    for peak, total in zip(simulation.device_peaks, simulation.device_peak_bytes, strict=True):
        assert sum(peak["by_kind"].values()) == peak["memory_bytes"] == total
        assert peak["moment"] in ("forward", "backward", "step")
    names = [name for stage in simulation.stages for name in stage.operators]
    assert sorted(names) == sorted(op["name"] for op in found.problem.model.operators)
    assert sorted(device for stage in simulation.stages for device in stage.devices) == [0, 1, 2, 3]
