"""Names of hosts on their other networks: asked from the resolver, told apart by routes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from tests.support.situations import MPIS, situation

from mpiric.host.facts.local import LocalHost
from mpiric.host.host import Completed
from mpiric.launchers import parse_command, render, spell
from mpiric.model.machine import Nic
from mpiric.workflows.launch.nodes import host_names, with_host_files

ROUTES = """Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT
eth0 00000000 0101000A 0003 0 0 0 00000000 0 0 0
eth0 0001000A 00000000 0001 0 0 0 00FFFFFF 0 0 0
ib0 0002000A 00000000 0001 0 0 0 00FFFFFF 0 0 0
"""
NICS = (
    Nic("lo", "loopback", 0, 65536, up=True, addresses=("127.0.0.1",)),
    Nic("eth0", "ethernet", 1000, 1500, up=True, addresses=("10.0.1.1",)),
    Nic("ib0", "ipoib", 100_000, 2044, up=True, addresses=("10.0.2.1",)),
)


class Site(LocalHost):
    """A resolver that knows these names, and a kernel on two networks."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self.names = names

    def run(self, argv: Sequence[str], **_: object) -> Completed:
        return Completed(0, " ".join(self.names.get(name, "-") for name in argv[4:]), "")

    def read_text(self, path: str) -> str | None:
        files = {"/proc/net/route": ROUTES, "/work/hosts": "kp001:2\nkp002:2\n"}
        return files.get(path)


def site(form: str) -> Site:
    plain = {f"kp00{i}": f"10.0.1.{i}" for i in (1, 2)}
    return Site(
        plain | {form.format(host=host): address.replace("0.1.", "0.2.") for host, address in plain.items()}
    )


def hydra(line: str, host: Site):
    return with_host_files(parse_command(line.split(), "/work", {}, dialect="hydra"), host)


@pytest.mark.parametrize("form", ["{host}.ipoib", "{host}-ib0", "ib-{host}", "{host}ib", "{host}-opa"])
def test_names_on_another_network_are_found_and_written(form):
    host = site(form)
    job = hydra("mpiexec -f hosts -n 4 ./app", host)
    names = host_names(job, NICS, host)
    assert names.network == "eth0"
    assert names.names_by_interface == {"ib0": {name: form.format(host=name) for name in ("kp001", "kp002")}}


def test_the_way_back_to_the_plain_names_is_found():
    host = site("{host}.ipoib")
    names = host_names(hydra("mpiexec -hosts kp001.ipoib,kp002.ipoib -n 4 ./app", host), NICS, host)
    assert names.network == "ib0"
    assert names.names_by_interface == {"eth0": {"kp001.ipoib": "kp001", "kp002.ipoib": "kp002"}}


def test_a_form_that_not_every_host_has_is_none():
    host = Site({"kp001": "10.0.1.1", "kp002": "10.0.1.2", "kp001.ipoib": "10.0.2.1"})
    assert (
        host_names(hydra("mpiexec -hosts kp001,kp002 -n 4 ./app", host), NICS, host).names_by_interface == {}
    )


@pytest.mark.parametrize("line", ["mpiexec -n 4 ./app", "mpiexec -hosts kp009 -n 4 ./app"])
def test_without_names_or_addresses_no_host_name_is_chosen(line):
    host = site("{host}.ipoib")
    assert host_names(hydra(line, host), NICS, host).names_by_interface == {}


def test_the_list_replaces_the_file_and_keeps_the_slots():
    host = site("{host}.ipoib")
    job = hydra("mpiexec -f hosts -n 4 ./app", host)
    names = host_names(job, NICS, host)
    case = replace(situation(MPIS[1]), job=job, read_host_names=lambda: names)
    spelling = spell("host-names", "ib0", case)
    assert spelling is not None
    launch = render(job, [("host-names", "ib0", spelling)])
    assert launch.shell_line() == "mpiexec -hosts kp001.ipoib:2,kp002.ipoib:2 -n 4 ./app"
    assert "hosts (command line)" in launch.settings[0].overrides
