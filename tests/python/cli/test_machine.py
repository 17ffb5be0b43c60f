import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console
from tests.support.replay_host import Recording, ReplayHost

from mpiric.cli._json import as_json
from mpiric.cli._topology_picture import topology_picture
from mpiric.cli.machine import command, survey_text
from mpiric.machine import read_topology
from mpiric.model.amount import size
from mpiric.workflows.machine import survey

DATA = Path(__file__).parents[2] / "data" / "machines"
BETZY = DATA / "betzy.xml"


def _printed(what: object, width: int = 110) -> str:
    console = Console(width=width, record=True, file=None, no_color=True, highlight=False)
    with console.capture() as captured:
        console.print(what)
    return captured.get()


@pytest.fixture
def printed() -> str:
    host = ReplayHost.load(DATA / "debian12.json")
    return _printed(survey_text(survey(host, "/home/user/run")))


def test_a_node_of_256_threads_fits_a_screen():
    lines = _printed(topology_picture(read_topology(BETZY.read_text()))).splitlines()
    assert len(lines) <= 16
    assert max(map(len, lines)) <= 110


def test_every_thread_of_a_big_node_is_in_a_range():
    picture = _printed(topology_picture(read_topology(BETZY.read_text())))
    assert "[0-3,128-131]" in picture
    assert "[124-127,252-255]" in picture
    assert "NUMA 7" in picture


def test_private_caches_and_threads_are_printed_once():
    picture = _printed(topology_picture(read_topology(BETZY.read_text())))
    assert "each core: L2 512 KiB, L1d 32 KiB, 2 hardware threads" in picture


def test_the_picture_of_a_small_machine_shows_each_core(printed: str):
    assert "[0|1]" in printed


@pytest.mark.parametrize(
    "word",
    [
        "openmpi",
        "4.1.4",
        "/usr/bin/mpiexec.mpich",
        "intelmpi",
        "2021.19",
        "gfortran 12.2.0",
        "madvise",
        "ext4",
    ],
)
def test_the_text_names_the_findings(printed: str, word: str):
    assert word in printed


def test_a_machine_without_mpi_gets_a_hint_to_install_one():
    host = ReplayHost(Recording(environ={"MPIRIC_MPI_HOME": "/nowhere"}))
    assert survey(host, "/").findings[0].id == "no-mpi"


def test_json_is_one_object_with_every_part():
    host = ReplayHost.load(DATA / "debian12.json")
    data = json.loads(json.dumps(as_json(survey(host, "/home/user/run"))))
    assert set(data) == {"machine", "mpis", "findings", "file_systems"}
    assert data["mpis"][0]["abi_families"] == ["openmpi"]
    assert data["machine"]["topology"]["cores"][1]["pus"] == [1]


def test_a_topology_file_is_drawn():
    result = CliRunner().invoke(command, ["--topology", str(BETZY)])
    assert result.exit_code == 0
    assert "NUMA 3" in result.stdout


def test_a_topology_file_is_given_as_json():
    result = CliRunner().invoke(command, ["--topology", str(BETZY), "--json"])
    assert len(json.loads(result.stdout)["topology"]["cores"]) == 128


def test_help_shows_examples():
    assert "mpiric machine --json" in CliRunner().invoke(command, ["--help"]).stdout


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1 << 10, "1 KiB"), (512 << 10, "512 KiB"), (25274793984, "23.5 GiB")],
)
def test_sizes_are_in_the_unit_people_use(count: int, text: str):
    assert size(count) == text
