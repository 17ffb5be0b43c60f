"""Output of `probe-mpi nodes` → speeds and settings of nodes, outliers and differences."""

import json

import pytest

from mpiric.fabric.nodes import judge_nodes, read_nodes

CPUINFO = "processor\t: 0\nmodel name\t: Xeon 1\nmicrocode\t: 0x1\n"


def row(number, *, slower=1.0, links=None, memory=16e6, **files):
    peers = [other for other in range(4) if other != number]
    return {
        "kind": "node",
        "rank": number,
        "host": f"n{number}",
        "pus": [0, 1],
        "numa": [0],
        "gflop_s": [[10 / slower, 9.9 / slower]] * 8,
        "mhz": [0.0] * 8,
        "memory_mb_s": [[9000.0] * 8],
        "links": [[other, *(links or {}).get(other, (2.0, 1000.0))] for other in peers * 2],
        "shm_bytes": 8 << 30,
        "library": "MPICH Version:      5.0.2",
        "files": {
            "/proc/sys/kernel/osrelease": "6.1\n",
            "/proc/cpuinfo": CPUINFO,
            "/proc/meminfo": f"MemTotal:  {memory:.0f} kB\n",
            "/proc/loadavg": "0.52 0.2 0.1 1/2 3\n",
            "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
            **files,
        },
    }


def output(*rows):
    return "\n".join(json.dumps(row, separators=(",", ":")) for row in rows)


def judged(*rows):
    return judge_nodes(read_nodes(output(*rows)), {})


def test_speeds_and_settings_of_a_node_are_read():
    node, *_ = read_nodes(output(*map(row, range(4))))
    assert node.host == "n0"
    assert node.kind == "Xeon 1, 2 cores, 1 NUMA node"
    assert node.typical("arithmetic") == pytest.approx(9.95)
    assert node.typical("slowest core") == pytest.approx(9.9)
    assert node.typical("latency") == 2.0
    assert "clock" not in node.speeds  # the kernel reports none
    assert node.settings["transparent huge pages"] == "madvise"
    assert node.settings["MPI library"] == "MPICH Version: 5.0.2"
    assert node.load == 0.52


@pytest.mark.parametrize(
    "text", ["", "{", '{"kind":"node"}', '{"kind":"node","rank":"x","links":[[1]]}', "[1]"]
)
def test_other_lines_are_skipped(text):
    assert read_nodes(text) == ()


def test_each_numa_node_is_a_quantity():
    wide = {**row(0), "numa": [0, 1], "memory_mb_s": [[9e3] * 8, [8e3] * 8]}
    (node,) = read_nodes(output(wide))
    assert node.typical("memory bandwidth of NUMA node 1") == 8e3


def test_a_slow_node_is_named_with_its_change():
    report = judged(row(0), row(1), row(2, slower=1.25), row(3))
    assert report.slow == ("n2",)
    entry = next(entry for entry in report.outliers if entry.quantity == "arithmetic")
    assert entry.change == pytest.approx(-0.2)
    assert entry.low < -0.2 < entry.high


def test_a_node_with_a_slow_link_is_named_and_its_partners_are_not():
    slow = (40.0, 100.0)
    report = judged(
        *(row(number, links={3: slow}) for number in range(3)), row(3, links=dict.fromkeys(range(3), slow))
    )
    assert report.slow == ("n3",)
    assert {entry.quantity for entry in report.outliers} == {"latency", "bandwidth"}


def test_nodes_of_another_kind_are_not_compared():
    other = {"/proc/cpuinfo": CPUINFO.replace("Xeon 1", "Xeon 2")}
    report = judged(row(0), row(1), row(2), row(3, slower=2.0, **other))
    assert report.slow == ()
    assert report.differences == ()


def test_a_setting_that_differs_is_reported_with_the_usual_one():
    never = {"/sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n"}
    (entry,) = judged(row(0), row(1), row(2), row(3, **never)).differences
    assert (entry.setting, entry.value, entry.hosts, entry.usual) == (
        "transparent huge pages",
        "never",
        ("n3",),
        "madvise",
    )


def test_missing_memory_is_reported_and_a_small_difference_is_not():
    report = judged(row(0), row(1), row(2, memory=15.9e6), row(3, memory=14e6))
    assert [(entry.setting, entry.hosts) for entry in report.differences] == [("memory", ("n3",))]
