"""Settings of a recipe in a pack: settings that name a network carry their needs on a node."""

from pathlib import Path

from tests.support.situations import BY_LABEL, situation

from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Fingerprint, Recipe
from mpiric.model.job import LaunchOption, Meaning
from mpiric.model.situation import HostNames
from mpiric.workflows.pack.runtime import packed_recipe
from mpiric.workflows.run.run import AppliedRecipe

HOSTS = LaunchOption(("--host", "n1,n2"), Meaning.HOSTS, ("n1,n2",))


def packed(values: dict[str, str], **more):
    two_nodes = situation(BY_LABEL["openmpi-5.0.11"], ranks=4, nodes=2, options=(HOSTS,), **more)
    fingerprint = Fingerprint({}, {}, {})
    recipe = Recipe("app", Configuration.of(values), fingerprint, None, ("mpirun",), "2026-11-26")
    return packed_recipe(AppliedRecipe(recipe, Path("/r.toml"), two_nodes, fingerprint))


def test_settings_of_a_network_name_their_requirements():
    runtime = packed({"network-interface": "eth0", "malloc": "keep-memory"})
    (need,) = runtime.needs
    assert need.paths[0] == "/sys/class/net/eth0"
    assert (
        {"OMPI_MCA_btl_tcp_if_include", "FI_TCP_IFACE"}
        <= set(need.variables)
        <= dict(runtime.settings).keys()
    )


def test_host_names_of_the_cluster_stay_out_of_the_launch_line():
    names = HostNames("eth0", {"ib0": {"n1": "n1-ib0", "n2": "n2-ib0"}})
    runtime = packed({"host-names": "ib0", "binding": "core"}, host_names=names)
    assert runtime.for_launcher.as_dict() == {"binding": "core"}
