"""A made-up launcher, MPI and scheduler, each one file below tests/data/additions, on their way."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.machines import made_up, placed
from tests.support.situations import machine, situation
from tests.support.slurm_host import SlurmHost

from mpiric import knobs, launchers, mpis, schedulers
from mpiric.host.host import Completed
from mpiric.lab.render import render
from mpiric.launchers._dialect import dialects
from mpiric.model.configuration import Configuration
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.policy import Policy
from mpiric.model.situation import Situation
from mpiric.mpis._describe import recognise
from mpiric.mpis._implementation import implementations
from mpiric.schedulers import JobRequest, SubmitSettings
from mpiric.schedulers import schedulers as all_schedulers

ADDITIONS = Path(__file__).parents[1] / "data/additions"
ROOMS = ((launchers, dialects), (mpis, implementations), (schedulers, all_schedulers))


@pytest.fixture(autouse=True)
def _with_additions() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for package, registry in ROOMS:
            folder = ADDITIONS / package.__name__.rpartition(".")[2]
            patch.setattr(package, "__path__", [*package.__path__, str(folder)])
            registry.cache_clear()
        yield
    for package, registry in ROOMS:
        registry.cache_clear()
        for file in (ADDITIONS / package.__name__.rpartition(".")[2]).glob("*.py"):
            sys.modules.pop(f"{package.__name__}.{file.stem}", None)


def under_quick_mpi(line: str, ranks: int) -> Situation:
    name, version = recognise("Quick MPI 3.1, for tests") or ("", "")
    library = MpiLibrary(name, version, (AbiFamily.MPICH,), "/q", "", "libmpi.so.12", "", "quickrun", "opt")
    case = situation(mpis.with_capabilities(library), ranks=ranks, on=machine(2, 4))
    return replace(case, job=launchers.parse_command(line.split(), "/w", {}))


def test_a_line_of_the_launcher_is_parsed_and_rendered_again() -> None:
    job = launchers.parse_command(["quickrun", "-n", "4", "--on", "n1,n2", "./app"], "/w", {})
    assert (job.dialect, job.ranks) == ("quickrun", 4)
    assert [host.name for host in launchers.named_hosts(job)] == ["n1", "n2"]
    assert launchers.render(job).shell_line() == "quickrun -n 4 --on n1,n2 ./app"


def test_the_banner_of_the_launcher_is_recognised() -> None:
    assert launchers.recognise_launcher("quickrun 2.0") == ("quickrun", "2.0")


def test_knobs_ask_the_capabilities_of_the_library() -> None:
    crowded = under_quick_mpi("quickrun -n 16 ./app", 16)
    values = {name: answer.values for name, answer in knobs.to_try(crowded).items()}
    assert values["waiting"] == ("yield", "sleep")
    assert "eager-node" in values
    assert "memory-copy" not in values


def test_a_configuration_is_rendered_by_launcher_and_library() -> None:
    chosen = Configuration.of({"binding": "package", "eager-node": "16KiB"})
    launch = render(chosen, under_quick_mpi("quickrun -n 4 ./app", 4))
    assert launch.shell_line() == "QUICK_EAGER=16384 quickrun --pin chip -n 4 ./app"


def test_the_launcher_carries_out_a_plan() -> None:
    plan = placed(made_up(4, 4), ranks=2, threads=4, policy="per-socket")
    assert launchers.emit(plan, "quickrun").argv[-4:] == ("--each", "2", "--pin", "0-3/4-7")


def test_its_ranks_bind_themselves_on_nodes_that_differ() -> None:
    plan = placed(made_up(4, 4), ranks=2, threads=4, hosts=("a",))
    assert "${QUICK_RANK:-" in launchers.emit_all((plan, plan))["quickrun"].files["ranks.sh"]


def test_settings_of_the_library_are_reported_under_another() -> None:
    (finding,) = mpis.foreign_settings({"QUICK_WAIT": "spin"}, situation().mpi)
    assert "quickmpi" in finding.says
    assert "QUICK_" in mpis.variable_beginnings()


def test_a_policy_is_written_in_the_form_of_the_library() -> None:
    assert mpis.export(Policy("quickmpi", "3.1", ())).files == {"quick.rules": "0 lines\n"}


def test_a_job_is_submitted_and_followed() -> None:
    answers = {"quicksub": [Completed(0, "queued 17\n", "")], "quickls": [Completed(0, "17 done\n", "")]}
    host, queue = SlurmHost(answers), schedulers.batch_scheduler("quickqueue")
    options = tuple(option for option, _ in queue.options(JobRequest(ranks=4)))
    assert queue.submit(host, "job.sh", SubmitSettings(name="app", options=options)) == "17"
    assert queue.look(host, ["17"])["17"].is_over
    assert host.commands[0] == ("quicksub", "--name=app", "--ranks=4", "job.sh")


def test_an_allocation_is_recognised() -> None:
    allocation = schedulers.find_allocation(SlurmHost({}, environ={"QUICK_HOSTS": "n1 n2"}))
    assert (allocation.scheduler, allocation.slots, allocation.launch_words) == (
        "quickqueue",
        8,
        ("quickrun",),
    )
