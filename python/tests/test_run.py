"""Experiments run from Python: the program's results, byte for byte, with and without a Dask cluster."""

import json
import os
import pathlib
import threading
import time

import penstock as ps
import pytest

#: Two planners on two sizes, one of them `joint`, and a model that comes as a file.
EXPERIMENT = """\
experiment: small
summary: a few cells
models:
  - {name: case_study, parameters: {layers: 2}, mini_batch: [32]}
  - {name: model.json, mini_batch: [16]}
clusters:
  - {name: summit, devices: [2, 4]}
planners: [spp, graphpipe, joint: {evaluations: 200, starts: quick}]
baseline: spp
"""


@pytest.fixture
def experiment(tmp_path) -> pathlib.Path:
    (tmp_path / "model.json").write_text(ps.zoo("candle_uno", towers=3).to_json())
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT)
    return file


@pytest.fixture
def cluster():
    """Makes a cluster of processes on this machine, with a client."""
    distributed = pytest.importorskip("distributed")
    opened = []

    def make(workers: int):
        local = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
        opened.append((distributed.Client(local), local))
        return opened[-1][0]

    yield make
    for client, local in opened:
        client.close()
        local.close()


def lasting(folder: pathlib.Path) -> dict[str, str | bytes]:
    """Every file except what was measured and who measured it; cells/ has the build, and the program is another one."""
    out: dict[str, str | bytes] = {}
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        if file.is_file() and not name.startswith(".cache/") and name not in ("timings.csv", "provenance.json"):
            out[name] = file.read_bytes()
        if name.startswith("cells/"):
            out[name] = json.dumps({**json.loads(file.read_text()), "program": ""})
    return out


@pytest.fixture
def program_results(cli, experiment, tmp_path) -> dict[str, str | bytes]:
    cli("run", experiment, "-o", tmp_path / "program")
    files = lasting(tmp_path / "program")
    assert len(files) == 4 + 4 * 12  # experiment.json, results.csv, results.json, table.txt; four files per cell
    return files


def test_a_run_here_gives_the_programs_results(experiment, program_results, tmp_path):
    told = []
    results = ps.run(experiment, folder=tmp_path / "here", progress=lambda row, done, total: told.append((done, total)))
    assert lasting(tmp_path / "here") == program_results
    assert told == [(done, 12) for done in range(1, 13)]
    assert len(results) == 12 and all(row.status == "ok" for row in results.rows)
    assert str(results) == (tmp_path / "here/table.txt").read_text()
    assert results._repr_html_().count("<tr>") == 13


def test_some_cells_other_values_and_the_cache(experiment, tmp_path):
    told = []
    few = dict(folder=tmp_path / "few", overrides={"models.0.mini_batch": [64]})
    results = ps.run(experiment, only={"model": "case_study", "planner": "spp"}, **few)
    assert [(row.mini_batch, row.planner) for row in results.rows] == [(64, "spp")] * 2
    results = ps.run(experiment, only=[{"planner": "spp"}], progress=lambda *of: told.append(of), **few)
    assert len(results) == 4 and len(told) == 4


@pytest.mark.parametrize("workers", [1, 3, 8])
def test_workers_give_the_programs_results(experiment, program_results, cluster, tmp_path, workers):
    told = []
    folder = tmp_path / f"workers_{workers}"
    results = ps.run(experiment, client=cluster(workers), folder=folder, progress=lambda *of: told.append(of[1:]))
    assert lasting(folder) == program_results
    assert told == [(done, 12) for done in range(1, 13)] and len(results) == 12
    # Nothing is left to do: the cells are in the cache.
    ps.run(experiment, folder=folder, progress=lambda *of: told.append(of[1:]))
    assert lasting(folder) == program_results


def test_workers_that_are_killed_at_work_cost_their_tasks_alone(experiment, program_results, cluster, tmp_path):
    client = cluster(3)
    killed = []
    over = threading.Event()

    def kill() -> None:
        """Three times the process of a worker that has a task, without warning: as often as one task may be unlucky."""
        while len(killed) < 3 and not over.wait(0.05):
            for address, keys in client.processing().items():
                if keys and address not in killed:
                    pid = client.run(os.getpid, workers=[address], on_error="ignore").get(address)
                    if pid:
                        os.kill(pid, 9)
                        killed.append(address)
                    break

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        ps.run(experiment, client=client, folder=tmp_path / "killed")
    finally:
        over.set()
        thread.join()
    assert len(killed) >= 2
    assert lasting(tmp_path / "killed") == program_results


def test_control_c_ends_the_tasks_of_workers(cluster, tmp_path):
    client = cluster(2)
    file = tmp_path / "long.yaml"
    file.write_text(
        "experiment: long\nmodels: [{name: mmt, parameters: {layers: 32}, mini_batch: [1024]}]\n"
        "clusters: [{name: summit, devices: [32]}]\nplanners: [piper, graphpipe_climb]\n"
    )
    pressed = []

    def press() -> None:
        while not any(client.call_stack().values()):
            time.sleep(0.1)
        pressed.append(time.monotonic())
        os.kill(os.getpid(), 2)

    thread = threading.Thread(target=press)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        ps.run(file, client=client, folder=tmp_path / "long")
    thread.join()
    while any(client.run(running).values()):
        time.sleep(0.1)
    assert time.monotonic() - pressed[0] < 5
    assert not (tmp_path / "long/results.csv").exists()


def running(dask_worker) -> int:
    """Tasks whose thread is still at work."""
    return len(dask_worker.active_threads)


@pytest.mark.parametrize("workers", [0, 1])
def test_mistakes_are_exceptions_with_their_place(experiment, cluster, tmp_path, workers):
    client = cluster(workers) if workers else None
    experiment.write_text(EXPERIMENT.replace("devices: [2, 4]", "devices: [2, 4000]"))
    with pytest.raises(ps.BadInput) as caught:
        ps.run(experiment, client=client, folder=tmp_path / "wrong")
    assert (caught.value.file, caught.value.line) == (str(experiment), 7) and caught.value.key
    assert not (tmp_path / "wrong").exists()
    # A cell's own mistake: the others are done, and the exception names it.
    experiment.write_text(EXPERIMENT.replace("joint: {", "piper, joint: {") + "pipeline_micro_batch: 8\n")
    with pytest.raises(ps.BadInput, match="piper"):
        ps.run(experiment, client=client, folder=tmp_path / "cell", only=[{"planner": "piper"}, {"planner": "spp"}])
    rows = (tmp_path / "cell/results.csv").read_text()
    assert rows.count("bad input: ") == 4 and rows.count(",ok") == 4


def test_results_of_another_experiment_stay(experiment, tmp_path):
    ps.run(experiment, folder=tmp_path / "mine", only={"planner": "spp"})
    experiment.write_text(EXPERIMENT.replace("experiment: small", "experiment: other"))
    with pytest.raises(ps.Error, match="small") as caught:
        ps.run(experiment, folder=tmp_path / "mine")
    assert caught.value.exit_code == 12


def test_seeds_give_the_same_times_on_workers(cli, cluster, tmp_path):
    perturbation = tmp_path / "jitter.yaml"
    perturbation.write_text("jitter:\n  forward: {lognormal: 5%}\n  backward: {normal: 5%}\n")
    plan = ps.plan(ps.Problem(ps.zoo("mmt", branches=2), ps.Cluster("summit", 4), 32, optimizer="adam"))
    here = ps.repeat(plan, perturbation, 21, seed=5)
    assert len(here) == 21 and len(set(here)) > 1
    assert ps.repeat(plan, perturbation, 21, seed=5, client=cluster(2)) == here
    assert ps.repeat(plan, perturbation, 2, seed=7) == here[2:4]
    plan.save(str(tmp_path / "plan.yaml"))
    flags = ("--perturbation", perturbation, "--seed", 5, "--runs", 21, "--json")
    printed = json.loads(cli("simulate", tmp_path / "plan.yaml", *flags))["iteration_s"]
    assert (printed["min"], printed["median"], printed["max"]) == (min(here), sorted(here)[10], max(here))
