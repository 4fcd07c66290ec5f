"""The console command is the program."""

import os
import subprocess
import sys

import pytest

COMMAND = os.path.join(os.path.dirname(sys.executable), "penstock")
WAYS = {"penstock": [COMMAND], "python -m penstock": [sys.executable, "-m", "penstock"]}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["plan", "--help"],
        ["plan", "--model", "mmt", "--cluster", "summit", "--devices", "4", "--mini-batch", "64", "--planner", "data_parallel"],
        ["plan", "--model", "mnt"],
        ["schedule", "zbv", "--ranks", "4", "--microbatches", "8"],
        ["simulate", "nowhere.yaml"],
        [],
    ],
)
def test_the_command_behaves_as_the_program(program, way, arguments):
    ours, theirs = (subprocess.run([*begin, *arguments], capture_output=True) for begin in (WAYS[way], [program]))
    assert ours.returncode == theirs.returncode
    if "--planner" not in arguments:  # which prints how long it took
        assert (ours.stdout, ours.stderr) == (theirs.stdout, theirs.stderr)
    assert bool(ours.stdout) == bool(theirs.stdout)


def test_it_reads_what_is_piped_in_and_writes_files(program, tmp_path):
    words = [COMMAND, "plan", "--model", "vgg16", "--cluster", "summit", "--devices", "4", "--mini-batch", "32", "--planner"]
    subprocess.run([*words, "spp", "-o", "plan.yaml"], check=True, cwd=tmp_path, capture_output=True)
    subprocess.run([COMMAND, "simulate", "plan.yaml", "--svg", "line.svg"], check=True, cwd=tmp_path, capture_output=True)
    assert (tmp_path / "line.svg").read_text().startswith("<")
