"""Machines that are not here, and jobs that are planned on each of them."""

from pathlib import Path

from mpiric.model.placement import HardwareThreads

MACHINES = {
    "betzy": "pack:2 numa:4(memory=34359738368) l3:4(size=16777216) l2:4(size=524288) l1d:1(size=32768) "
    "core:1 pu:2(indexes=2*128:128*1)",
    "two-socket-intel": "pack:2 numa:1(memory=206158430208) l3:1(size=62914560) l2:40(size=1310720) "
    "core:1 pu:2(indexes=2*80:80*1)",
    "grace-like": "pack:1 numa:1(memory=515396075520) l3:1(size=119537664) l2:72(size=1048576) core:1 pu:1",
    "laptop": Path(__file__).parents[1] / "data/machines/laptop.xml",
    "gpu-node": Path(__file__).parents[1] / "data/machines/gpu_node.xml",
}
REQUESTS = {
    "whole-node": {"ranks": 2, "policy": "whole-node"},
    "compact-wide": {"ranks": 4, "threads": 3, "policy": "compact"},
    "spread": {"ranks": 5},
    "bandwidth": {"ranks": 6, "bandwidth_bound": True},
    "bandwidth-wide": {"ranks": 2, "threads": 3, "bandwidth_bound": True},
    "per-numa": {"ranks": 4, "policy": "per-numa"},
    "one-hardware-thread": {"ranks": 3, "threads": 2, "hardware_threads": HardwareThreads.ONE},
}
