"""Planners written in Python, and the stages that they reason about."""

import threading
import time
from typing import Literal

import penstock as ps
import pytest


@pytest.fixture
def problem():
    return ps.Problem(ps.zoo("mmt", branches=2), ps.Cluster("summit", 4), 64)


def names(problem) -> list[str]:
    return [operator["name"] for operator in problem.model.operators]


def whole(problem, micro_batch=16) -> list[dict]:
    """Data parallelism."""
    return [{"operators": names(problem), "devices": range(len(problem.cluster)), "micro_batch": micro_batch}]


@ps.planner("in_halves")
def in_halves(problem):
    """Two stages, cut where the slower of them takes least."""
    operators, half = names(problem), len(problem.cluster) // 2
    devices = [range(half), range(half, 2 * half)]

    def slower(cut: int) -> float:
        return max(ps.stage_cost(problem, part, on, 8).per_sample_s
                   for part, on in zip([operators[:cut], operators[cut:]], devices))  # fmt: skip

    cut = min(range(1, len(operators)), key=slower)
    return [{"operators": part, "devices": on, "micro_batch": 8}
            for part, on in zip([operators[:cut], operators[cut:]], devices)]  # fmt: skip


def test_its_plan_is_simulated_and_named(problem):
    plan = ps.plan(problem, "in_halves")
    assert plan.planner == "in_halves" and len(plan) == 2 and not ps.validate(plan)
    assert plan.simulation.row.status == "ok" and plan.simulation.row.strategy.startswith("PP2 x DP2")
    again = ps.simulate(ps.Plan.from_stages(problem, in_halves(problem)))
    assert again.iteration_s == plan.simulation.iteration_s


def test_it_is_compared_with_others_and_listed_among_all(problem):
    table = ps.compare(problem, ["in_halves", "data_parallel"])
    assert {row.planner for row in table.rows} == {"in_halves", "data_parallel"}
    assert all(row.status == "ok" for row in table.rows)


class Enough(Exception):
    pass


def test_all_planners_are_those_of_the_catalogue_and_those_that_were_registered(problem):
    def asked() -> int:
        """The comparison ends with its first row, which has their number."""
        told = []

        def stop(row, done, total):
            told.append(total)
            raise Enough

        with pytest.raises(Enough):
            ps.compare(problem, "all", progress=stop)
        return told[0]

    before = asked()
    ps.planner("one_more")(whole)
    ps.planner("one_more")(lambda problem: whole(problem, 8))
    assert asked() == before + 1


def test_a_plan_may_be_another_planners_changed(problem):
    @ps.planner("as_data_parallel")
    def as_data_parallel(problem):
        return ps.plan(problem, "data_parallel")

    ours, theirs = ps.plan(problem, "as_data_parallel"), ps.plan(problem, "data_parallel")
    assert ours.simulation.iteration_s == theirs.simulation.iteration_s and ours.planner == "as_data_parallel"


def test_an_experiment_runs_it_and_never_from_the_cache(tmp_path):
    calls = []

    @ps.planner("counted")
    def counted(problem):
        calls.append((problem.model.name, problem.cluster.name, len(problem.cluster), threading.get_ident()))
        return whole(problem)

    (tmp_path / "file.yaml").write_text(
        "experiment: mine\nmodels: [{name: mmt, mini_batch: [64]}]\n"
        "clusters: [{name: summit, devices: [2, 4]}]\nplanners: [counted, data_parallel]\n"
    )
    runs = [ps.run(tmp_path / "file.yaml", folder=tmp_path / "out") for _ in range(2)]
    for results in runs:
        assert [row.status for row in results.rows] == ["ok"] * 4
        assert [row.planner for row in results.rows] == ["counted", "data_parallel"] * 2
    assert [row.iteration_s for row in runs[0].rows] == [row.iteration_s for row in runs[1].rows]
    assert sorted(call[:3] for call in calls) == [("mmt", "summit", 2)] * 2 + [("mmt", "summit", 4)] * 2
    with pytest.raises(ps.BadInput, match="counted: registered in this process alone"):
        ps.run(tmp_path / "file.yaml", folder=tmp_path / "out", client=object())


def test_what_it_raises_is_told_with_its_name_and_line(problem):
    @ps.planner("broken")
    def broken(problem):
        return 1 / 0

    with pytest.raises(ps.BadInput, match=r"planner broken: ZeroDivisionError: .*test_planners\.py, line \d+, in broken") as told:
        ps.plan(problem, "broken")
    assert isinstance(told.value.__cause__, ZeroDivisionError)
    table = ps.compare(problem, ["broken", "data_parallel"])
    assert [row.status.partition(":")[0] for row in table.rows] == ["ok", "bad input"]


def test_it_may_say_that_nothing_fits(problem):
    @ps.planner("never_fits")
    def never_fits(problem):
        raise ps.Infeasible("too large")

    with pytest.raises(ps.Infeasible, match="planner never_fits: too large"):
        ps.plan(problem, "never_fits")
    assert ps.compare(problem, "never_fits").rows[0].status == "infeasible: planner never_fits: too large"


@pytest.mark.parametrize(
    "wrong, error, message",
    [
        (lambda p: whole(p, 3), ps.InvalidPlan, "micro-batch 3 does not divide the mini-batch 64"),
        (lambda p: [{**whole(p)[0], "devices": [0]}], ps.InvalidPlan, "device 1 serves no stage"),
        (lambda p: [{**whole(p)[0], "tensor_parallel": 3}], ps.InvalidPlan, "cannot be divided into tensor-parallel groups"),
        (lambda p: [{**whole(p)[0], "operators": ["nothing"]}], ps.BadInput, "stage 0: .*nothing"),
        (lambda p: [{**whole(p)[0], "micro": 4}], ps.BadInput, "stage 0: micro"),
        (lambda p: [], ps.InvalidPlan, "there are no stages"),
        (lambda p: None, ps.BadInput, "planner wrong: TypeError"),
        (lambda p: {"operators": []}, ps.BadInput, "expected a list of stages"),
    ],
)
def test_plans_that_are_none_are_refused(problem, wrong, error, message):
    ps.planner("wrong")(wrong)
    with pytest.raises(error, match=message):
        ps.plan(problem, "wrong")


def test_an_invalid_plan_costs_no_other_planner_its_row(problem):
    ps.planner("wrong")(lambda p: whole(p, 3))
    table = ps.compare(problem, ["wrong", "data_parallel"])
    assert table.rows[0].planner == "data_parallel"
    assert table.rows[1].status.startswith("invalid plan: planner wrong: the plan is not valid: stage 0: micro-batch 3")


@pytest.mark.parametrize("name", ["graphpipe", "all", "", "a:b", "a,b"])
def test_names_of_others_and_odd_names_are_refused(name):
    with pytest.raises(ps.BadInput, match="planner"):
        ps.planner(name)(whole)


def test_pins_are_given_to_it_or_checked(problem):
    @ps.planner("pinned")
    def pinned(problem, micro_batch=None):
        return whole(problem, 4 * (micro_batch or 2))

    ps.planner("deaf")(whole_of := lambda p: whole(p, 16))
    assert ps.plan(problem, "pinned").micro_batches == [2]
    assert ps.plan(problem, "pinned", micro_batch=8).micro_batches == [8]
    assert whole_of and ps.plan(problem, "deaf", micro_batch=4).micro_batches == [4]
    with pytest.raises(ps.BadInput, match="planner deaf: .* takes 4 samples at a time, the caller pins 8"):
        ps.plan(problem, "deaf", micro_batch=8)


def test_further_parameters_are_options(problem, tmp_path):
    seen = []

    @ps.planner("cut_at")
    def cut_at(problem, micro_batch=None, cut: int = 5, share: float = 0.5, note="", fast=False, order: Literal["first", "last"] = "first", cache=()):
        seen.append((cut, share, note, fast, order, cache))
        first = max(1, int(len(problem.cluster) * share))
        operators, devices = names(problem), range(len(problem.cluster))
        return [{"operators": operators[:cut], "devices": devices[:first], "micro_batch": 8},
                {"operators": operators[cut:], "devices": devices[first:], "micro_batch": 8}]  # fmt: skip

    plan = ps.plan(problem, "cut_at", options={"cut": 9, "share": 0.5, "fast": True, "order": "last", "note": "mine"})
    assert seen[-1] == (9, 0.5, "mine", True, "last", ()) and len(plan.simulation.stages[0].operators) == 9
    assert plan.planner == "cut_at:cut=9:fast=true:note=mine:order=last:share=0.5"
    ps.plan(problem, "cut_at")
    assert seen[-1] == (5, 0.5, "", False, "first", ())
    table = ps.compare(problem, ["cut_at", "cut_at:cut=9"])
    assert sorted(row.planner for row in table.rows) == ["cut_at", "cut_at:cut=9"]
    (tmp_path / "file.yaml").write_text(
        "experiment: mine\nmodels: [{name: mmt, parameters: {branches: 2}, mini_batch: [64]}]\n"
        "clusters: [{name: summit, devices: [4]}]\nplanners: [cut_at: {cut: 9}, cut_at: {cut: 3, fast: true}]\n"
    )
    rows = ps.run(tmp_path / "file.yaml", folder=tmp_path / "out").rows
    assert [row.planner for row in rows] == ["cut_at:cut=9", "cut_at:cut=3:fast=true"]
    assert rows[0].iteration_s == plan.simulation.iteration_s
    for options, message in [
        ({"cuts": 1}, "unknown option 'cuts'; did you mean 'cut'"),
        ({"cut": "x"}, "cut: expected a whole number, not 'x'"),
        ({"fast": 1}, "fast: expected false, true, not '1'"),
        ({"order": "middle"}, "order: expected first, last, not 'middle'"),
        ({"cache": 1}, "unknown option 'cache'"),
    ]:
        with pytest.raises(ps.BadInput, match=message):
            ps.plan(problem, "cut_at", options=options)

    @ps.planner("cut_at")  # again, with other options
    def other(problem, left=1):
        return whole(problem)

    with pytest.raises(ps.BadInput, match="unknown option 'cut'"):
        ps.plan(problem, "cut_at", options={"cut": 9})
    assert len(ps.plan(problem, "cut_at", options={"left": 2})) == 1


def test_a_parameter_without_a_default_is_refused():
    with pytest.raises(ps.BadInput, match="planner asks: parameter cut: an option of a planner has a name and a default"):
        ps.planner("asks")(lambda problem, cut: [])


def test_a_time_limit_ends_a_function_that_would_not():
    @ps.planner("endless")
    def endless(problem):
        while True:
            time.sleep(0.01)

    problem = ps.Problem(ps.zoo("mmt", branches=2), ps.Cluster("summit", 2), 8)
    start = time.monotonic()
    with pytest.raises(ps.Limit):
        ps.plan(problem, "endless", time_limit=0.3)
    assert time.monotonic() - start < 5


def test_a_problem_may_be_kept_after_the_search(tmp_path):
    kept = []

    @ps.planner("keeps")
    def keeps(problem):
        kept.append(problem)
        return whole(problem)

    (tmp_path / "file.yaml").write_text(
        "experiment: kept\nmodels: [{name: vgg16, mini_batch: [64]}]\n"
        "clusters: [{name: summit, devices: [4]}]\nplanners: [keeps]\n"
    )
    ps.run(tmp_path / "file.yaml", folder=tmp_path / "out")
    ps.plan(ps.Problem(ps.zoo("vgg16"), ps.Cluster("summit", 4), 64), "keeps")
    times = [ps.plan(one, "data_parallel").simulation.iteration_s for one in kept]
    assert times[0] == times[1] and kept[0].model.name == "vgg16"


def test_stage_costs_are_those_of_the_simulation(problem):
    """One stage on all devices has no messages: its passes are all that the simulation runs before gradients are summed."""
    cost = ps.stage_cost(problem, names(problem), range(4), 16)
    assert cost.communication_s == 0 and cost.collectives_s == 0
    assert cost.per_sample_s == pytest.approx((cost.forward_s + cost.backward_s) / 16 + cost.reduce_s / 64)
    plan = ps.Plan.from_stages(problem, whole(problem))
    spans = [line.split(",") for line in ps.simulate(plan).to_csv().splitlines()]
    kind, start, end = (spans[0].index(key) for key in ("kind", "start_s", "end_s"))
    first = next(span for span in spans if span[kind] == "forward")
    assert float(first[end]) - float(first[start]) == pytest.approx(cost.forward_s, rel=1e-6)


def test_a_stage_in_a_pipeline_sends(problem):
    half = names(problem)[: len(problem.model) // 2]
    cost = ps.stage_cost(problem, half, [0, 1], 8)
    assert cost.communication_s > 0 and cost.forward_s > 0 and cost.reduce_s > 0 and cost.update_s > 0
    groups = ps.stage_cost(problem, half, [0, 1], 8, tensor_parallel=2)
    assert groups.collectives_s > 0 and cost.collectives_s == 0
    again = ps.stage_cost(problem, half, [0, 1], 8, recompute="stage")
    assert again.recompute_s > 0 and again.forward_s == cost.forward_s


def test_stage_memory_is_what_plans_are_checked_by(problem):
    plan = ps.plan(problem, "in_halves")
    for stage in plan.simulation.stages:
        memory = ps.stage_memory(problem, stage.operators, stage.devices, stage.micro_batch * stage.replicas,
                                 in_flight=stage.in_flight)  # fmt: skip
        assert memory == stage.memory_bytes
    assert ps.stage_memory(problem, names(problem), [0], 16, zero=0)["weights"] == problem.model.weights * problem.model.element_bytes


@pytest.mark.parametrize(
    "given, error, message",
    [
        (dict(devices=[0, 9]), ps.InvalidPlan, "there is no device 9"),
        (dict(operators=["none"]), ps.BadInput, "stage 0: .*none"),
        (dict(micro_batch=0), ps.BadInput, "micro_batch"),
        (dict(tensor_parallel=3), ps.InvalidPlan, "cannot be divided"),
        (dict(zero=7), ps.BadInput, "zero"),
        (dict(zeros=1), ps.BadInput, "zeros"),
    ],
)
def test_stages_that_are_none_are_refused(problem, given, error, message):
    stage = {"operators": names(problem), "devices": [0, 1], "micro_batch": 8, **given}
    with pytest.raises(error, match=message):
        ps.stage_cost(problem, **stage)
    with pytest.raises(error, match=message):
        ps.stage_memory(problem, **stage)
