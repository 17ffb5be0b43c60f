"""Virtual cluster: relations between its hosts, and complete removal."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.lab import cluster, state
from tests.lab.enter import command_line
from tests.lab.errors import LabError
from tests.lab.plan import FAST, SLOW, Network, Plan, host_names, network

pytestmark = pytest.mark.requires("root", "netns", "ip", "tc", "ping", "gcc")
HOSTS = host_names("4")
FOUR = Plan(HOSTS)


def shortest_round_trip_ms(lab, target):
    done = cluster.run(lab, "n1", ["ping", "-q", "-c", "10", "-i", "0.02", target])
    return float(re.search(r"= ([\d.]+)/", done.stdout)[1])


def mentions(directory):
    """Return the processes of this machine that belong to a cluster."""
    results = []
    for pid in state.processes():
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if pid != os.getpid() and str(directory).encode() in command:
            results.append(command)
    return results


def born_at(pid):
    """Return pid and start time, because pids are reused; "" for an ended process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else f"{pid} {fields[19]}"


def begin_and_kill(directory, after_s):
    command = [sys.executable, "-m", "tests.lab", "--state", str(directory), "up"]
    starting = subprocess.Popen(
        command, cwd=cluster.ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(after_s)
    starting.send_signal(signal.SIGKILL)
    starting.wait()


def has_ended(directory, within_s=30):
    deadline = time.monotonic() + within_s
    while mentions(directory):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("host", HOSTS)
def test_every_host_has_its_own_name(lab, host):
    assert cluster.run(lab, host, ["hostname"]).stdout.strip() == host


def test_host_names_resolve_to_the_slow_network(lab):
    done = cluster.run(lab, "n1", ["getent", "hosts", "n3"])
    assert done.stdout.split()[0] == FOUR.address(SLOW, "n3")


def test_a_round_trip_on_the_slow_network_has_its_delay_twice(lab):
    assert shortest_round_trip_ms(lab, "n2") >= 2 * SLOW.delay_us / 1000


def test_the_fast_network_has_no_such_delay(lab):
    assert shortest_round_trip_ms(lab, "n2-fast0") < shortest_round_trip_ms(lab, "n2")


def test_the_fast_network_carries_its_large_packets(lab):
    complete = FAST.mtu - 28  # IP and ICMP headers
    done = cluster.run(lab, "n1", ["ping", "-c", "1", "-M", "do", "-s", str(complete), "n2-fast0"])
    assert done.returncode == 0


def test_hosts_do_not_share_temporary_files(lab):
    cluster.run(lab, "n1", ["touch", "/tmp/of-n1", "/dev/shm/of-n1"])
    assert cluster.run(lab, "n2", ["ls", "/tmp/of-n1", "/dev/shm/of-n1"]).returncode != 0


def test_hosts_share_the_clusters_directory(lab):
    cluster.run(lab, "n1", ["touch", str(lab / "shared")])
    assert cluster.run(lab, "n2", ["ls", str(lab / "shared")]).returncode == 0


def test_a_host_sees_no_process_of_the_machine(lab):
    assert str(os.getpid()) not in cluster.run(lab, "n1", ["ls", "/proc"]).stdout.split()


def test_the_status_of_a_command_is_passed_on(lab):
    assert cluster.run(lab, "n1", ["sh", "-c", "exit 7"]).returncode == 7


def test_a_command_that_is_not_there_has_the_status_of_a_shell(lab):
    assert cluster.run(lab, "n1", ["no-such-command"]).returncode == 127


def test_the_agent_gives_the_environment_of_a_login(lab):
    done = cluster.run(
        lab, "n1", ["ssh", "-x", "-oBatchMode=yes", "n2", "hostname; echo $STRANGE"], {"STRANGE": "x"}
    )
    assert done.stdout.split() == ["n2"]


def test_a_killed_command_takes_what_it_started_on_the_host_with_it(lab):
    waiting = subprocess.Popen(command_line(lab, "n2", ["sleep", "987"]))
    while not any(b"987" in Path(f"/proc/{pid}/cmdline").read_bytes() for pid in processes_of(lab, "n2")):
        time.sleep(0.05)
    waiting.kill()
    waiting.wait()
    deadline = time.monotonic() + 20
    while processes_of(lab, "n2") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_of(lab, "n2") == ()


def processes_of(lab, host):
    return state.processes_on(state.read_record(lab), host)


def test_a_crashed_host_answers_no_more_until_it_is_booted(lab):
    cluster.crash(lab, "n4")
    assert cluster.run(lab, "n1", ["ping", "-c", "1", "-W", "1", "n4"]).returncode != 0
    cluster.boot(lab, "n4")
    assert cluster.run(lab, "n1", ["ping", "-c", "3", "-W", "5", "n4"]).returncode == 0


def test_up_leaves_a_running_cluster_alone(lab):
    assert cluster.up(lab, FOUR) is False


def test_two_clusters_do_not_hear_each_other(lab, tmp_path):
    other = tmp_path / "other"
    cluster.up(other, Plan(("n1", "m2")))
    try:
        assert cluster.run(other, "n1", ["ping", "-c", "1", "m2"]).returncode == 0
        assert cluster.run(lab, "n1", ["ping", "-c", "1", "-W", "1", "m2"]).returncode != 0
    finally:
        cluster.down(other)


def test_a_delayed_network_alone_and_a_single_host_can_be_had(tmp_path):
    cluster.up(tmp_path / "one", Plan(("only",), (Network("net0", 50, 1000),)))
    assert cluster.run(tmp_path / "one", "only", ["ping", "-c", "1", "only"]).returncode == 0
    cluster.down(tmp_path / "one")


def test_down_leaves_no_process_no_namespace_no_mount_and_no_file(tmp_path):
    directory = tmp_path / "state"
    mounts = Path("/proc/self/mounts").read_text()
    cluster.up(directory, FOUR)
    cluster.run(directory, "n1", ["sh", "-c", "setsid sleep 900 >/dev/null 2>&1 &"])
    before = {pid: born_at(pid) for pid in state.visible_pids(state.read_record(directory)).values()}
    assert len(before) > len(HOSTS)
    assert cluster.down(directory)
    assert not {born_at(pid) for pid in before} & set(before.values())  # namespaces end with their process
    assert mentions(directory) == []
    assert Path("/proc/self/mounts").read_text() == mounts
    assert not directory.exists()


@pytest.mark.parametrize("after_s", [0.1, 0.25, 0.4, 0.6, 0.9])
def test_a_start_killed_on_the_way_leaves_nothing_that_down_does_not_remove(tmp_path, after_s):
    directory = tmp_path / "state"
    begin_and_kill(directory, after_s)
    cluster.down(directory)
    assert has_ended(directory)
    assert not directory.exists()


def test_after_a_killed_start_the_cluster_can_be_started(tmp_path):
    directory = tmp_path / "state"
    begin_and_kill(directory, 0.3)
    cluster.up(directory, Plan(host_names("2")))
    assert cluster.run(directory, "n2", ["hostname"]).stdout.strip() == "n2"
    cluster.down(directory)


def test_a_cluster_ends_with_the_process_that_started_it(tmp_path):
    directory = tmp_path / "state"
    code = (
        "import sys, time; from pathlib import Path; from tests.lab import cluster; "
        "from tests.lab.plan import Plan; cluster.up(Path(sys.argv[1]), Plan(('n1',))); "
        "print('up', flush=True); time.sleep(900)"
    )
    command = [sys.executable, "-c", code, str(directory)]
    with subprocess.Popen(command, cwd=cluster.ROOT, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout.readline() == "up\n"
        cluster.run(directory, "n1", ["sh", "-c", "setsid sleep 900 >/dev/null 2>&1 &"])
        starter.kill()
    assert has_ended(directory)
    assert not state.is_up(directory)
    cluster.down(directory)


def test_a_cluster_of_the_command_line_stays_when_the_command_has_ended(tmp_path):
    command = [sys.executable, "-m", "tests.lab", "--state", str(tmp_path / "state"), "up", "--hosts", "1"]
    subprocess.run(command, cwd=cluster.ROOT, check=True, stdout=subprocess.DEVNULL)
    assert cluster.run(tmp_path / "state", "n1", ["hostname"]).stdout.strip() == "n1"
    cluster.down(tmp_path / "state")


def test_a_directory_with_other_things_in_it_is_not_touched(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(LabError, match="holds other things"):
        cluster.up(tmp_path, FOUR)
    cluster.down(tmp_path)
    assert (tmp_path / "thesis.tex").exists()


@pytest.mark.parametrize("text", ["0", "65", "n1,n1", "N1", "a b", ""])
def test_hosts_that_cannot_be_are_an_error(text):
    with pytest.raises(LabError):
        host_names(text)


@pytest.mark.parametrize(
    "text", ["eth0", "lo:rate=1gbit", "x:rate=1", "x:rate=1gbit,mtu=9", "x:rate=1gbit,loss=1"]
)
def test_networks_that_cannot_be_are_an_error(text):
    with pytest.raises(LabError):
        network(text)


def test_a_user_who_is_not_root_is_told_so():
    command = ["setpriv", "--reuid=65534", "--clear-groups", sys.executable, "-m", "tests.lab", "up"]
    done = subprocess.run(
        command, cwd=cluster.ROOT, capture_output=True, text=True, env={"HOME": "/nonexistent"}
    )
    assert done.returncode == 64
    assert "only root" in done.stderr
    assert "hint: " in done.stderr
