"""Settings that name a network, a device or a file are left out where a node of the job lacks it."""

import os
import subprocess
from dataclasses import dataclass, replace

import pytest
from tests.support.situations import BY_LABEL, situation

from mpiric import knobs
from mpiric.host.host import Completed
from mpiric.model.configuration import Configuration
from mpiric.workflows.launch.nodes import without_missing

MPICH = BY_LABEL["mpich-5.0.2"]
LO = {"network-interface": "lo", "binding": "core"}
FAST0 = {"network-interface": "fast0", "binding": "core"}


@dataclass
class Nodes:
    """This machine; a launcher's command gets the answers of other nodes."""

    answers: str = ""
    environ: dict[str, str] = None
    launched: list[str] = None

    def run(self, argv, *, environment=None, timeout_s=20):
        if argv[0] == "sh":
            done = subprocess.run(argv, capture_output=True, text=True, env={"PATH": os.environ["PATH"]})
            return Completed(done.returncode, done.stdout, done.stderr)
        self.launched = list(argv)
        return Completed(0, self.answers, "")


def remaining_settings(values, host, *, launches=True, nodes=2, **changes):
    case = replace(situation(MPICH, ranks=4, nodes=nodes), **changes)
    usable, sentences = without_missing(Configuration.of(values), case, host, launches=launches)
    return usable.as_dict(), sentences


def test_settings_for_missing_hardware_are_left_out():
    assert remaining_settings(LO, Nodes(), launches=False) == (LO, [])
    usable, (sentence,) = remaining_settings(FAST0, Nodes(), launches=False)
    assert usable == {"binding": "core"}
    assert sentence.startswith("network-interface=fast0 is left out: ")
    assert "no network interface fast0" in sentence


def test_the_nodes_of_the_job_decide_and_are_named():
    host = Nodes("mpiric-node n1 0 .\n1: mpiric-node n2 0 .\n")
    assert remaining_settings(FAST0, host) == (FAST0, [])
    assert "sh" in host.launched
    usable, (sentence,) = remaining_settings(FAST0, Nodes("mpiric-node n1 0 .\nmpiric-node n2 .\n"))
    assert "network-interface" not in usable
    assert "n2: no network interface fast0" in sentence


def test_nodes_that_do_not_answer_leave_it_to_this_host():
    assert "network-interface" in remaining_settings(LO, Nodes(""))[0]
    assert "network-interface" not in remaining_settings(FAST0, Nodes(""))[0]


def test_nothing_is_started_for_settings_that_name_nothing():
    host = Nodes()
    assert remaining_settings({"binding": "core"}, host) == ({"binding": "core"}, [])
    assert host.launched is None


def test_a_transport_that_the_library_was_built_without():
    without = replace(MPICH.capabilities, network_libraries=("ofi",))
    library = replace(MPICH, capabilities=without)
    usable, (sentence,) = remaining_settings({"network-library": "ucx"}, Nodes(), mpi=library)
    assert usable == {}
    assert f"{library.label} is built without it" in sentence


@pytest.mark.parametrize("name", ["network-interface", "host-names", "ofi-provider", "ucx-transports"])
def test_every_knob_of_a_network_names_its_requirements(name):
    knob = knobs.all_knobs()[name]
    assert knob.needs is not None
    values = {"ofi-provider": "cxi", "ucx-transports": "rc"}
    need = knob.needs(values.get(name, "hsn0"))
    assert need.paths
    assert all(path.startswith(("/sys/", "/dev/")) and " " not in path for path in need.paths)
