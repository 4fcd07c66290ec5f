"""How the package behaves among others: quick to import, quick to interrupt, and it lets other threads run."""

import os
import signal
import subprocess
import sys
import threading
import time

import penstock as ps
import pytest

#: A planner that takes minutes here.
SLOW = dict(planner="joint")


@pytest.fixture
def long_problem():
    return ps.Problem(ps.zoo("mmt", layers=32), ps.Cluster("summit", 32), 1024)


def test_import_takes_less_than_a_tenth_of_a_second_and_brings_neither_torch_nor_pandas():
    # The least of several: other processes may be at work.
    code = (
        "import time; t = time.perf_counter(); import penstock; t = time.perf_counter() - t; import sys; "
        "assert not {'torch', 'pandas', 'tqdm', 'numpy', 'penstock.torch'} & set(sys.modules); print(t)"
    )
    times = [float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
             for _ in range(5)]  # fmt: skip
    assert min(times) < 0.1, times


def interrupted(work, after: float = 0.5) -> tuple[float, object]:
    """Seconds from Ctrl-C to the end of the work, and what it returned: None where it raised KeyboardInterrupt."""
    sent, out = [], None

    def press() -> None:
        time.sleep(after)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    # A shell lets what it starts in the background ignore Ctrl-C, and so would Python.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=press)
    thread.start()
    try:
        try:
            out = work()
        finally:
            thread.join()  # work that ends by itself is not interrupted, but this is
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGINT, before)
    took = time.monotonic() - sent[0]
    return took, out


@pytest.mark.filterwarnings("ignore::penstock.errors.SearchInterrupted")
def test_control_c_ends_a_search_and_a_comparison_within_half_a_second(long_problem):
    took = min(interrupted(lambda: ps.plan(long_problem, **SLOW))[0] for _ in range(2))
    assert took < 0.5
    ends = [interrupted(lambda: ps.compare(long_problem, [SLOW["planner"]])) for _ in range(2)]
    assert min(took for took, _ in ends) < 0.5 and all(out is None for _, out in ends)


def best_so_far(search):
    """Interrupts a long search when it has a plan."""
    for after in (1, 2, 4, 8, 16):
        _, plan = interrupted(search, after)
        if plan is not None:
            return plan
    raise AssertionError("no plan in 16 seconds")


def test_control_c_leaves_the_best_plan_so_far_and_a_warning(long_problem):
    # Without colocated stages, which improve does not support.
    search = dict(planner="joint", options={"starts": "direct", "colocated": "never"})
    with pytest.warns(ps.SearchInterrupted, match="best plan"):
        plan = best_so_far(lambda: ps.plan(long_problem, **search))
    assert not plan.complete and plan.simulation.row.status.startswith("interrupted: ")
    assert ps.validate(plan) == () and ps.simulate(plan).iteration_s == plan.simulation.iteration_s
    with pytest.warns(ps.SearchInterrupted):
        _, better = interrupted(lambda: ps.improve(plan, evaluations=1 << 30), 0.2)
    assert not better.complete and better.simulation.iteration_s <= plan.simulation.iteration_s
    assert ps.plan(long_problem, "gpipe_equal").complete


def test_other_threads_run_while_a_search_does(long_problem):
    counted = []
    over = threading.Event()

    def count() -> None:
        while not over.wait(0.01):
            counted.append(time.monotonic())

    thread = threading.Thread(target=count)
    thread.start()
    start = time.monotonic()
    try:
        ps.plan(long_problem, time_limit=1.0, **SLOW)
    except ps.Limit:
        pass
    end = time.monotonic()
    over.set()
    thread.join()
    during = [moment for moment in counted if start < moment < end]
    assert end - start > 0.9 and len(during) > 20


def test_progress_is_told_and_its_exception_ends_the_search(long_problem):
    told = []
    problem = ps.Problem(ps.zoo("vgg16"), ps.Cluster("summit", 4), 32)
    ps.compare(problem, "spp,gpipe_equal", progress=lambda row, done, total: told.append((row.planner, done, total)))
    assert told == [("spp", 1, 2), ("gpipe_equal", 2, 2)]

    def enough(seconds: float) -> None:
        if seconds > 0.2:
            raise RuntimeError("enough")

    start = time.monotonic()
    with pytest.raises(RuntimeError, match="enough"):
        ps.plan(long_problem, progress=enough, **SLOW)
    assert time.monotonic() - start < 5


def test_a_bar_is_drawn_where_tqdm_is_installed(capsys):
    pytest.importorskip("tqdm")
    problem = ps.Problem(ps.zoo("vgg16"), ps.Cluster("summit", 4), 32)
    ps.compare(problem, "spp,gpipe_equal", progress=True)
    assert "2/2" in capsys.readouterr().err


def test_notebooks_show_pictures_and_tables():
    problem = ps.Problem(ps.zoo("vgg16"), ps.Cluster("summit", 4), 32)
    plan = ps.plan(problem, "spp")
    html = plan._repr_html_()
    assert html.count("<tr>") == 1 + len(plan.simulation.stages) and "<svg" in html
    assert plan.simulation._repr_svg_().lstrip().startswith("<")
    table = ps.compare(problem, "spp,data_parallel")._repr_html_()
    assert table.index("data_parallel") != -1 and table.count("<tr>") == 3


def test_tables_become_data_frames():
    pandas = pytest.importorskip("pandas")
    problem = ps.Problem(ps.zoo("vgg16"), ps.Cluster("summit", 4), 32)
    table = ps.compare(problem, "spp,data_parallel")
    frame = table.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["iteration_s"]) == [row.iteration_s for row in table.rows]
    spans = ps.plan(problem, "spp").simulation.to_pandas()
    assert set(spans["kind"]) >= {"forward", "backward"} and spans["end_s"].max() > 0


def test_types_are_known_to_checkers():
    folder = os.path.dirname(ps.__file__)
    assert os.path.exists(os.path.join(folder, "py.typed"))
    types = open(os.path.join(folder, "_core.pyi")).read()
    public = [name for name in ps.__all__ if getattr(getattr(ps, name), "__module__", "") == "penstock._core"]
    assert len(public) > 8 and all(f"class {name}:" in types for name in public)
