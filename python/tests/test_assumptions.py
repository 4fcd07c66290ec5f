"""Assumptions about a training that does not state its settings."""

import json
import pathlib

import pytest

import penstock as ps

CONFIG = pathlib.Path(__file__).parents[2] / "tests/frameworks/configs/qwen3_32b.json"


def test_a_language_model_gets_adam_mixed_precision_at_most_4096_tokens_and_a_reserve():
    model = ps.import_hf(CONFIG)
    assert (model.label, model.precision, model.tokens) == ("qwen3_32b", "mixed_bf16", 4096)
    problem = ps.Problem(model, ps.Cluster("8xH100x8"), 64)
    assert (problem.precision, problem.optimizer) == ("mixed_bf16", "adam")
    assert problem.assumptions.startswith(
        "assumed: mixed_bf16 (precision=), adam (optimizer=), 4096 tokens per sample (sequence=), "
        "with the loss (loss='no'), 2.50 GiB reserved (reserved=)"
    )
    plan = ps.plan(problem, "megatron")
    assert "reserved: 2684354560B" in plan.to_yaml()
    assert "label: qwen3_32b" in plan.to_yaml()
    assert "plans that Megatron-LM can run (runnable_by=)" in str(plan.simulation)
    assert json.loads(plan.simulation.to_json())["assumptions"]["precision"] == {
        "value": "mixed_bf16",
        "assumed": True,
        "option": "--precision",
    }


def test_what_is_stated_stays():
    model = ps.import_hf(CONFIG, sequence=64)
    problem = ps.Problem(model, ps.Cluster("8xH100x8"), 64, optimizer="sgd", precision="fp32", reserved=0)
    assert (problem.precision, problem.optimizer) == ("fp32", "sgd")
    assert "given: fp32, sgd, 64 tokens per sample, mini-batch 64, nothing reserved" in problem.assumptions
    assert "8.37 GiB reserved" in ps.Problem(model, ps.Cluster("8xH100x8"), 64, reserved="deepspeed").assumptions
    assert "3.00 GiB reserved" in ps.Problem(model, ps.Cluster("8xH100x8"), 64, reserved=3 << 30).assumptions
    with pytest.raises(ps.BadInput, match="did you mean 'megatron'"):
        ps.Problem(model, ps.Cluster("8xH100x8"), 64, reserved="megatrn")


def test_a_search_is_limited_as_by_the_command_line(cli):
    search = {"options": {"evaluations": 40}}
    problem = ps.Problem(ps.zoo("llama3-8b", layers=4), ps.Cluster("8xH100"), 64)
    limited, free = ps.plan(problem, **search), ps.plan(problem, runnable_by="any", **search)
    assert "plans that Megatron-LM can run (runnable_by=)" in str(limited.simulation)
    assert "can run" not in str(free.simulation)
    assert ps.export(limited, "megatron").text
    told = cli("plan", "--model", "llama3-8b", "-p", "layers=4", "--gpus", "8xH100", "--mini-batch", "64",
               "--option", "evaluations=40", "--json")
    assert json.loads(told)["iteration_s"] == limited.simulation.iteration_s
    better = ps.improve(limited, evaluations=40)
    assert ps.export(better, "megatron").text
    table = ps.compare(problem, "megatron")
    assert "plans that Megatron-LM can run" in table.assumptions


def test_another_model_is_trained_as_before():
    problem = ps.Problem(ps.zoo("mmt"), ps.Cluster("summit", 4), 64)
    assert (problem.precision, problem.optimizer) == (None, "sgd")
    assert "nothing reserved (reserved=)" in problem.assumptions
