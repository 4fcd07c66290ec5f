"""Every mistake is reported by an exception, with its place."""

import penstock as ps
import pytest


@pytest.fixture
def plan_file(tmp_path):
    problem = ps.Problem(ps.zoo("vgg16"), ps.Cluster("summit", 4), 32)
    file = tmp_path / "plan.yaml"
    ps.plan(problem, "spp").save(str(file))
    return file


def test_a_mistake_in_a_file_has_file_line_and_key(plan_file):
    lines = plan_file.read_text().splitlines()
    number = next(i for i, line in enumerate(lines) if "mini_batch: 32" in line)
    lines[number] = lines[number].replace("mini_batch: 32", "mini_batch: many")
    plan_file.write_text("\n".join(lines))
    with pytest.raises(ps.BadInput) as caught:
        ps.load(plan_file)
    error = caught.value
    assert (error.file, error.line, error.key, error.exit_code) == (str(plan_file), number + 1, "training.mini_batch", 11)
    assert str(error).startswith(f"{plan_file}:{number + 1}: training.mini_batch: ")
    assert isinstance(error, ValueError)


def small() -> ps.Problem:
    return ps.Problem(ps.zoo("vgg16"), ps.Cluster("summit", 2), 8)


@pytest.mark.parametrize(
    "wrong, words",
    [
        (lambda: ps.zoo("mnt"), "mmt"),  # a hint
        (lambda: ps.zoo("mmt", branche=2), "branche"),
        (lambda: ps.Cluster("nowhere"), "nowhere"),
        (lambda: ps.Cluster("summit", 0), "devices"),
        (lambda: ps.Problem(ps.zoo("vgg16"), ps.Cluster("summit", 4), 0), "mini_batch"),
        (lambda: ps.Problem(ps.zoo("vgg16"), ps.Cluster("summit", 4), 8, optimizer="muom"), "muon"),
        (lambda: ps.Problem(ps.zoo("vgg16"), ps.Cluster("summit", 4), 8, gradient_compression=2), "gradient_compression"),
        (lambda: ps.plan(small(), aim="costs"), "cost"),
        (lambda: ps.plan(small(), aim="p95"), "perturbation"),
        (lambda: ps.plan(small(), perturbation="experiments/imperfect/bad_day.yaml"), "p95"),
        (lambda: ps.plan(small(), slower=5), "memory"),
        (lambda: ps.compare(small(), "spp", aim="cost"), "price"),
        (lambda: ps.improve(ps.plan(small(), "spp"), aim="p95", perturbation="missing.yaml"), "missing.yaml"),
        (lambda: ps.load("missing.json"), "missing.json"),
        (lambda: ps.schedule("zbv", 4), "ranks"),
        (lambda: ps.report("results/quickstart", "pdf"), "format"),
        (lambda: ps.report("results/quickstart", "csv", baseline="megatron"), "baseline"),
    ],
)
def test_bad_input_names_what_is_wrong(wrong, words):
    with pytest.raises(ps.BadInput, match=words):
        wrong()


def test_a_planner_that_does_not_exist_and_an_option_it_does_not_have():
    problem = ps.Problem(ps.zoo("vgg16"), ps.Cluster("summit", 4), 32)
    with pytest.raises(ps.BadInput, match="graphpipe"):
        ps.plan(problem, "grphpipe")
    with pytest.raises(ps.BadInput, match="flsh"):
        ps.plan(problem, "piper", options={"flsh": True})
    assert ps.plan(problem, "piper", options={"flush": True}).planner == "piper:flush=true"


def test_what_fits_nowhere_is_infeasible_and_a_row_of_a_comparison():
    """70 billion numbers of 4 bytes are 280 GB, and four V100 have 64."""
    problem = ps.Problem(ps.zoo("llama", size="llama3-70b"), ps.Cluster("summit", 4), 8, optimizer="adam")
    with pytest.raises(ps.Infeasible) as caught:
        ps.plan(problem, "gpipe_equal")
    assert caught.value.exit_code == 20
    (row,) = ps.compare(problem, "gpipe_equal").rows
    assert row.iteration_s is None and row.status.startswith("infeasible: ")


def test_an_invalid_plan_lists_its_violations(plan_file):
    text = plan_file.read_text()
    assert ps.validate(ps.load(plan_file)) == ()
    first = next(line for line in text.splitlines() if "devices: [" in line)
    plan_file.write_text(text.replace(first, first.split("[")[0] + "[77]"))
    plan = ps.load(plan_file)
    (violation, *_) = ps.validate(plan)
    assert "77" in violation
    with pytest.raises(ps.InvalidPlan, match="77") as caught:
        ps.simulate(plan)
    assert caught.value.exit_code == 21


def test_a_limit_without_a_plan_is_an_error_of_its_own():
    problem = ps.Problem(ps.zoo("mmt"), ps.Cluster("summit", 32), 512)
    with pytest.raises(ps.Limit, match="time limit"):
        ps.plan(problem, "piper", time_limit=1e-6)


def test_values_are_immutable():
    model = ps.zoo("vgg16")
    for value, name in [(model, "name"), (ps.Cluster("summit", 4), "nodes"), (ps.schedule("gpipe", 2, 2), "bubble")]:
        with pytest.raises(AttributeError):
            setattr(value, name, 0)
        with pytest.raises(AttributeError):
            value.anything = 0
