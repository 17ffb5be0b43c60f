"""`mpiric tune --site` between hosts with two networks: the files that it writes, under two libraries."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import clean_environment
from tests.lab import cluster
from tests.lab.plan import host_names
from tests.lab.programs import mpi_environment
from tests.support.oversubscription import OVERSUBSCRIBED, WITHOUT_LIBFABRIC

pytestmark = [
    pytest.mark.requires("root", "netns", "ip", "tc", "gcc"),
    pytest.mark.requires("mpi:mpich", "mpi:openmpi"),
]
HOSTS = host_names("2")
MPIRIC = str(Path(sys.executable).parent / "mpiric")
PROGRAM = Path(__file__).parent / "programs/interface_cost.c"
LINES = {
    "openmpi": ("mpirun", "--host", "n1,n2", "-n", "2", "--bind-to", "none"),
    "mpich": ("mpiexec", "-hosts", "n1,n2", "-ppn", "1", "-n", "2"),
}
# Ranks of both hosts share the cores of one machine.
POLITE = {"openmpi": {**OVERSUBSCRIBED["openmpi"], **WITHOUT_LIBFABRIC}, "mpich": OVERSUBSCRIBED["mpich"]}


SET = {"mpich": r"setenv (\w+) \"fast0\"", "openmpi": r"export (\w+)=fast0"}
FILES = {
    "mpich": {"mpiric-site.tcl"},
    "openmpi": {"mpiric-site.tcl", "mpiric-site.sh", "openmpi-mca-params.conf"},
}


@pytest.fixture
def cost(lab, mpi_prefix):
    """`cost(library, argv before the launch line, environment)`: the time that the program prints."""

    def run(name, *before, **more):
        program, prefix = lab / f"cost-{name}", mpi_prefix(name)  # every host sees it
        if not program.exists():
            subprocess.run([prefix / "bin/mpicc", PROGRAM, "-o", program], check=True)
        environment = {**mpi_environment(name, prefix, clean_environment()), **POLITE[name], **more}
        line = [*before, *LINES[name], str(program)]
        done = cluster.run(lab, "n1", line, environment, timeout=270, cwd=lab)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.parametrize("name", LINES)
def test_site_files_hold_what_contributes_and_belongs_to_one_library(lab, cost, name):
    """Open MPI's interface is a variable of its own; MPICH's belong to the libraries below both."""
    options = ["--budget", "4m", "--try-all", "--no-check", "--only", "network-interface,single-copy"]
    options += ["--objective", r"output:cost (\d+)", "--store", str(lab / f"store-{name}")]
    tuned = json.loads(cost(name, MPIRIC, "tune", "--site", "--json", *options, "--"))
    assert tuned["verdict"] == "faster"
    assert [(change["knob"], change["share"]["shown"]) for change in tuned["changes"]] == [
        ("network-interface", True)
    ]
    site = Path(tuned["store"]) / "site"
    assert {path.name for path in site.iterdir()} == FILES[name]
    # Used without mpiric: a library's own variables are for everybody, the rest is for its module.
    for_all = site / ("mpiric-site.sh" if name == "openmpi" else "mpiric-site.tcl")
    variables = dict.fromkeys(re.findall(SET[name], for_all.read_text()), "fast0")
    assert cost(name, **variables) == "cost 1\n"
    if name == "openmpi":
        assert list(variables) == ["OMPI_MCA_btl_tcp_if_include"]
        assert {"FI_TCP_IFACE", "UCX_NET_DEVICES"} <= set(
            re.findall(SET["mpich"], (site / "mpiric-site.tcl").read_text())
        )
