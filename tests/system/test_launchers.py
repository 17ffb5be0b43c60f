"""Effects of mpiric's command lines with real launchers, observed in the ranks."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.launchers import parse_command, render, spell
from mpiric.machine import read_machine
from mpiric.model.job import Job, Launch, Spelling
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.situation import Observation, Situation
from mpiric.mpis import find_mpis

SHOW = """#!/bin/sh
echo "cpus=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)|A=$A|preload=$LD_PRELOAD|$#:$*"
"""


class Stage:
    """MPI library, a program that prints its environment, and the environment of a user."""

    def __init__(self, mpi: MpiLibrary, environment: dict[str, str], place: Path) -> None:
        self.mpi = mpi
        paths = {
            "LD_LIBRARY_PATH": ":".join(mpi.library_path),
            "PATH": ":".join([*mpi.search_path, environment["PATH"]]),
        }
        self.environment = {**environment, **mpi.environment, **paths}
        self.place = place
        self.show = str(place / "show")
        Path(self.show).write_text(SHOW)
        Path(self.show).chmod(0o755)

    def under(self, mpi: MpiLibrary) -> "Stage":
        variables = {
            name: value for name, value in self.environment.items() if name not in self.mpi.environment
        }
        return Stage(mpi, variables, self.place)

    def job(self, *arguments: str) -> Job:
        return parse_command(arguments, str(self.place), self.environment, dialect=self.mpi.dialect)

    def ranks(self, *options: str, arguments: tuple[str, ...] = ()) -> Job:
        return self.job(self.mpi.launcher, *options, "-n", "2", self.show, *arguments)

    def situation(self, job: Job) -> Situation:
        machine = read_machine(LocalHost(), str(self.place))
        return Situation(machine, job, self.mpi, Observation(1.0, (), machine.usable_cpu_count))

    def run(self, launch: Launch) -> list[dict[str, str]]:
        environment = {**self.environment, **launch.environment}
        for name in launch.unset:
            environment.pop(name, None)
        done = subprocess.run(
            launch.argv, env=environment, cwd=self.place, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        matches = re.findall(r"cpus=(.*)\|A=(.*)\|preload=(.*)\|(.*)", done.stdout)
        return [dict(zip(("cpus", "A", "preload", "arguments"), rank, strict=True)) for rank in matches]


@pytest.fixture
def stage(mpi: MpiLibrary, environment: dict[str, str], tmp_path: Path) -> Stage:
    return Stage(mpi, environment, tmp_path)


def libc() -> str:
    maps = Path("/proc/self/maps").read_text()
    return next(word for word in maps.split() if "/libc.so" in word or "/libc-" in word)


def test_the_users_own_line_reaches_the_ranks_word_by_word(stage):
    observed = stage.run(render(stage.ranks(arguments=("-n", "a b", "--x=1"))))
    assert [rank["arguments"] for rank in observed] == ["3:-n a b --x=1"] * 2


def test_a_variable_reaches_every_rank(stage):
    launch = render(stage.ranks(), [("knob", "x", Spelling(environment={"A": "1,2 3"}))])
    assert [rank["A"] for rank in stage.run(launch)] == ["1,2 3"] * 2


def test_a_variable_goes_by_option_when_hosts_are_named(stage):
    hosts = "localhost:2" if stage.mpi.dialect.startswith("openmpi") else "localhost"
    job = stage.ranks("-host", hosts)
    launch = render(job, [("knob", "x", Spelling(environment={"A": "1"}))])
    assert "A" not in launch.environment
    assert [rank["A"] for rank in stage.run(launch)] == ["1"] * 2


def test_a_preload_reaches_the_ranks_and_not_the_launcher(stage):
    launch = render(stage.ranks(), [("knob", "x", Spelling(preload=(libc(),)))])
    assert "LD_PRELOAD" not in launch.environment
    assert [rank["preload"] for rank in stage.run(launch)] == [libc()] * 2


def test_every_program_of_a_launch_gets_the_variable(stage):
    program = ("-n", "1", stage.show)
    job = stage.job(stage.mpi.launcher, *program, ":", *program, "second")
    launch = render(job, [("knob", "x", Spelling(environment={"A": "1"}, preload=(libc(),)))])
    observed = stage.run(launch)
    assert sorted(rank["arguments"] for rank in observed) == ["0:", "1:second"]
    assert {(rank["A"], rank["preload"]) for rank in observed} == {("1", libc())}


def test_ranks_told_to_be_unbound_may_run_everywhere(stage):
    job = stage.ranks()
    launch = render(job, [("binding", "none", spell("binding", "none", stage.situation(job)))])
    assert {rank["cpus"] for rank in stage.run(launch)} == {own_cpus()}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: nothing to bind to")
def test_ranks_told_to_be_bound_sit_on_cores_of_their_own(stage):
    job = stage.ranks()
    launch = render(job, [("binding", "core", spell("binding", "core", stage.situation(job)))])
    cpus = [rank["cpus"] for rank in stage.run(launch)]
    assert len(set(cpus)) == 2
    assert own_cpus() not in cpus


@pytest.mark.parametrize("value", ["hwthread", "l3", "numa", "package"])
def test_every_level_of_binding_is_taken_by_the_launcher(stage, value):
    job = stage.ranks()
    launch = render(job, [("binding", value, spell("binding", value, stage.situation(job)))])
    assert len(stage.run(launch)) == 2


@pytest.mark.parametrize("value", ["compact", "spread-numa", "spread-package"])
def test_every_order_of_ranks_is_taken_by_the_launcher(stage, value):
    job = stage.ranks()
    launch = render(job, [("mapping", value, spell("mapping", value, stage.situation(job)))])
    assert len(stage.run(launch)) == 2


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: nothing to widen")
def test_a_rank_is_given_as_many_cpus_as_told(stage):
    job = stage.job(stage.mpi.launcher, "-n", "1", stage.show)
    spelling = spell("threads-per-rank", "2", stage.situation(job))
    cpus = stage.run(render(job, [("threads-per-rank", "2", spelling)]))[0]["cpus"]
    assert count(cpus) == 2


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: nothing to bind to")
def test_a_launcher_inside_a_script_is_told_by_variables(stage):
    script = stage.place / "run.sh"
    script.write_text(f"#!/bin/sh\nexec {' '.join(stage.ranks().argv)}\n")
    job = stage.job("sh", str(script))
    for value, expected in (("none", {own_cpus()}), ("core", None)):
        launch = render(job, [("binding", value, spell("binding", value, stage.situation(job)))])
        cpus = {rank["cpus"] for rank in stage.run(launch)}
        assert cpus == expected if expected else len(cpus) == 2


def test_a_job_runs_as_it_was_under_every_other_launcher(stage):
    job = stage.job(stage.mpi.launcher, "-n", "2", stage.show, "a b")
    for other in find_mpis(LocalHost()):
        switch = Spelling(dialect=other.dialect, launcher_words=(other.launcher,), environment={"A": "1"})
        observed = stage.under(other).run(render(job, [("mpi", other.label, switch)]))
        assert [(rank["A"], rank["arguments"]) for rank in observed] == [("1", "1:a b")] * 2


def own_cpus() -> str:
    return re.search(r"Cpus_allowed_list:\s*(\S+)", Path("/proc/self/status").read_text())[1]


def count(cpus: str) -> int:
    ends = [part.split("-") for part in cpus.split(",")]
    return sum(int(end[-1]) - int(end[0]) + 1 for end in ends)
