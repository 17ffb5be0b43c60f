"""Reading the probe's lines: the carrier of the bytes, and the faster route."""

import json
from dataclasses import replace

import pytest

from mpiric.fabric.networks import kinds
from mpiric.fabric.pairs import pair_reports, warnings_of
from mpiric.fabric.probe import carriers, contradiction, damaged, in_words, read_probe, varying
from mpiric.fabric.verdict import best_route, gain, winners
from mpiric.model.configuration import Configuration
from mpiric.model.fabric import Moved, PairClass, PlainNetwork, Route, TransportPath, TransportReport

OTHER = PairClass.OTHER_NODE
NETWORKS = (PlainNetwork("eth0", "10.77.1.1", 1067.0, 11.6), PlainNetwork("fast0", "10.77.2.1", 5.4, 280.0))
FAST = Configuration((("network-interface", "fast0"),))


def lines(small_us: float, large_us: float, *, intact: bool = True) -> str:
    """A run of the probe between two nodes, with noise around its lines."""
    rows = [
        {"kind": "rank", "rank": 0, "host": "n1", "numa": 0, "pu": 0},
        {"kind": "rank", "rank": 1, "host": "n2", "numa": 0, "pu": 0},
        *(
            {
                "kind": "pair",
                "class": "other node",
                "ranks": [0, 1],
                "bytes": size,
                "latency_us": time_us * 2,
                "latency_us_min": time_us,
                "bandwidth_mb_s": 0.0,
                "messages": 30,
                "intact": intact,
            }
            for size, time_us in ((8, small_us), (1048576, large_us))
        ),
        {
            "kind": "moved",
            "class": "other node",
            "payload": 1000,
            "devices": {"eth0": 900, "fast0": 500},
            "sockets": {"10.77.1.1": 800, "10.77.2.1": 400},
            "shared": ["/dev/shm"],
        },
        {
            "kind": "network",
            "name": "eth0",
            "address": "10.77.1.1",
            "peer": "10.77.1.2",
            "latency_us": 1067.0,
            "bandwidth_mb_s": 11.6,
        },
    ]
    text = [json.dumps(row, separators=(",", ":")) for row in rows]
    return "\n".join(["a library talks", *text, '{"kind":"pair","class":'])


def route(configuration: Configuration, small_us: float, large_us: float) -> Route:
    return Route(configuration, (read_probe(lines(small_us, large_us)),), pair_classes=(OTHER,))


def test_lines_of_others_and_one_cut_off_are_passed_over():
    probe = read_probe(lines(1000.0, 50_000.0))
    assert probe.hosts == ("n1", "n2")
    assert [point.size_bytes for point in probe.points[OTHER]] == [8, 1048576]
    assert probe.points[OTHER][1].bandwidth_mb_s == pytest.approx(1048576 / 50_000)


def test_a_message_that_came_back_changed_is_noticed():
    assert damaged(lines(1.0, 2.0, intact=False))
    assert not damaged(lines(1.0, 2.0))


def test_sockets_show_the_interface_of_the_sent_bytes():
    moved = Moved(1000, {"eth0": 90_000}, {"10.77.1.1": 300, "10.77.2.1": 900})
    assert dict(carriers(moved, NETWORKS)) == {"fast0": 900, "eth0": 300}


def test_an_adapter_that_bypasses_the_kernel_shows_in_its_counters():
    moved = Moved(1_000_000, {"mlx5_0": 1_010_000, "eth0": 4000}, {})
    assert dict(carriers(moved, ())) == {"mlx5_0": 1_010_000}


def test_other_programs_traffic_is_not_a_carrier():
    assert carriers(Moved(1_000_000, {"eth0": 4000}, {}), NETWORKS) == {}


def test_on_a_node_nothing_moves_on_a_device():
    sentence = in_words(PairClass.SAME_NODE, Moved(1000, shared=("/dev/shm",)), {})
    assert sentence == "nothing on any device; shared memory: /dev/shm"


def test_a_library_that_names_one_device_while_another_moves_is_caught():
    assert "says mlx5_0, but the bytes went over eth0" in contradiction(
        TransportPath("rc_mlx5", ("mlx5_0:1",)), {"eth0": 1000}
    )
    assert contradiction(TransportPath("tcp", ("eth0", "fast0")), {"eth0": 1000}) == ""


def test_a_gain_is_the_geometric_mean_over_sizes():
    assert gain({8: 100.0, 1024: 1.0}, {8: 1.0, 1024: 1.0}) == pytest.approx(10.0)


def test_the_best_way_is_the_simplest_of_those_close_together():
    both = Configuration.of({"network-interface": "fast0", "network-library": "ucx"})
    routes = [route(Configuration(), 1000.0, 50_000.0), route(FAST, 5.0, 4000.0), route(both, 4.99, 4000.0)]
    best = best_route(routes, (OTHER,), 1.05)
    assert best is not None
    assert best.configuration == FAST


def test_noise_makes_no_route_better_than_the_default():
    routes = [route(Configuration(), 100.0, 100.0), route(FAST, 99.0, 99.0)]
    assert best_route(routes, (OTHER,), 1.05) is None
    assert [winner.configuration for winner in winners(routes, OTHER)] == [Configuration()] * 2


def test_a_default_that_stripes_over_a_slow_network_is_reported_with_numbers():
    routes = [route(Configuration(), 1000.0, 50_000.0), route(FAST, 5.0, 4000.0)]
    report = TransportReport("netmod ucx", {OTHER: TransportPath("tcp", ("eth0", "fast0"))})
    pairs = pair_reports((), report, routes, {})
    assert [pair.pair_class for pair in pairs] == [OTHER]
    assert pairs[0].winners[0].gain == pytest.approx(200.0)
    assert "plain TCP 1067.0 µs" in pairs[0].possible
    warnings = {finding.id: finding for finding in warnings_of((), "mpich", pairs)}
    assert set(warnings) == {"slower-transport", "several-networks"}
    assert "1000.0 µs" in warnings["slower-transport"].evidence
    assert "network-interface=fast0" in warnings["slower-transport"].fix


def test_a_route_that_does_not_work_is_reported_with_its_reason():
    refused = Route(FAST, refused="ended with exit status 1", pair_classes=(OTHER,))
    pairs = pair_reports((), TransportReport(), [route(Configuration(), 1.0, 2.0), refused], {})
    assert pairs[0].alternatives[0].refused == "ended with exit status 1"


def test_kinds_are_ordered_by_preference():
    assert next(iter(kinds())) == "slingshot"
    assert list(kinds())[-1] == "virtual"


def over(device: str, small_us: float):
    address = {network.name: network.address for network in NETWORKS}[device]
    run = read_probe(lines(small_us, 1000.0))
    return replace(run, networks=NETWORKS, moved={OTHER: Moved(1000, {}, {address: 1000})})


def test_a_choice_that_varies_from_run_to_run_is_named():
    (finding,) = varying([over("eth0", 1060.0), over("fast0", 6.0), over("eth0", 1050.0)])
    assert finding.id == "choice-varies"
    assert finding.evidence == "eth0 in 2, fast0 in 1 of 3 runs; the smallest message takes 6.0 to 1060.0 µs"


def test_the_same_choice_in_every_run_is_not_reported():
    assert varying([over("eth0", 1060.0), over("eth0", 400.0)]) == ()
    assert varying([over("eth0", 10.0), over("fast0", 11.0)]) == ()  # and no harm done
    assert varying([]) == ()
