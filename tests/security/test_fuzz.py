"""Damaged files of every format are read or refused in mpiric's own words: no other error, crash or hang.

Each reader gets damaged copies of good files, always the same ones. `make test-all` tries many more.
"""

import io
import json
import os
import random
import subprocess
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from tests.support.explored_jobs import PAIR, end, job
from tests.support.fuzzing import COUNTS, Format, files, fuzz, texts, verb
from tests.support.marks_files import marks_file
from tests.support.mutations import damage, damage_json, damage_lines

from mpiric.host.facts.local import LocalHost
from mpiric.machine import load_topology
from mpiric.mapping.read import read_graph, read_numbers
from mpiric.model.configuration import Configuration
from mpiric.model.run import Outcome, Phase, Trial
from mpiric.profile.darshan import read_log as read_darshan_log
from mpiric.profile.marks import read_marks
from mpiric.profile.read import read_record
from mpiric.schedulers._script import read_site_defaults
from mpiric.tuning.events import read_log
from mpiric.tuning.exploration import VERSION, Side, begun_fields, end_fields
from mpiric.tuning.recipe import read_recipe
from mpiric.tuning.store import EVENTS, Lock, Store
from mpiric.workflows.fabric.fabric import _read as read_fabric_baseline
from mpiric.workflows.mapping.machine import MachineRequest
from mpiric.workflows.mapping.machine import read_machine as read_described_machine
from mpiric.workflows.mapping.orders import planned_orders, read_order
from mpiric.workflows.policies import read_policy
from mpiric.workflows.trials.recorded_runs import launch_facts, node_topology
from mpiric.workflows.trials.step_markers import kept_marks

ROOT = Path(__file__).parents[2]
DATA, FORMATS = ROOT / "tests/data", ROOT / "spec/formats"


@cache
def logs() -> tuple[bytes, ...]:
    """The logs of a tune and of explored jobs."""
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        with Store(Path(place)).create("app", "job", ("mpirun", "app"), objective="wall") as log:
            log.append("space", {"class": "mpich, one node, computing", "asked": {}, "dimensions": []})
            for number, phase in enumerate((Phase.OBSERVE, Phase.SEARCH, Phase.PROOF)):
                chosen = Configuration.of({"binding": "core"}) if number else Configuration()
                log.append_trial(Trial(chosen, phase, Outcome.OK, 2.0, 2.0, 0, "", number=number))
            log.append("candidates", {"configurations": [{"binding": "core"}]})
            key = {"function": "MPI_Send", "place": "a+0x1", "ranks": 2, "birth": 0}
            window = {"first": 1, "last": 9, "first_s": 0.5, "last_s": 3.0, "growth": 0.0}
            log.append(
                "marks", {"pair": {"key": key, "first": 1, "last": 9}, "window": window, "why": "long"}
            )
            log.append("amended", {"number": 1, "objective": 1.5})
            change = {"knob": "binding", "value": "core"}
            result = {"verdict": "faster", "ratio": 0.8, "configuration": {"binding": "core"}, "recipe": "r"}
            log.append("finished", {"result": {**result, "changes": [change], "tried": ["malloc"]}})
        tune = (log.path / EVENTS).read_bytes()
        meta = {"ledger": VERSION, "mark": PAIR.option, "on_rank_0_alone": False, "command": ["srun", "app"]}
        with Store.part(Path(place, "series"), **meta) as log:
            for item in (job(1, Side.RECIPE, end(0.04, marks=20)), job(1, Side.ORIGINAL, end(None))):
                log.append("began", begun_fields(item))
                log.append("ended", end_fields(item.job, item.end))
            log.append("over", {"verdict": "faster", "why": "shown"})
        return tune, (log.path / EVENTS).read_bytes()


def _history(path: Path) -> None:
    directory = path.parent / "store/20260101-000000-app-abc"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / EVENTS).write_bytes(path.read_bytes())
    (directory / "lock").write_bytes(path.read_bytes()[:200])
    Lock.holder(directory / "lock")
    kept_marks(read_log(path))
    verb("history", "--store", path.parent / "store")
    verb("history", "--store", path.parent / "store", "--json")


def _explored(path: Path) -> None:
    directory = path.parent / "store/explore/app-1234"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / EVENTS).write_bytes(path.read_bytes())
    verb("history", "--store", path.parent / "store", "--explore")


def _numpy(**arrays: object) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def _npy() -> bytes:
    file = io.BytesIO()
    np.save(file, np.arange(9.0).reshape(3, 3))
    return file.getvalue()


@cache
def elf_files() -> tuple[bytes, ...]:
    """A small program, and the C library's head of a table of versions in the program itself."""
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        source = Path(place, "a.c")
        source.write_text('#include <stdio.h>\nint main(void) { return puts("x"); }\n')
        paths = [Path(place, name) for name in ("program", "object.o")]
        subprocess.run(["gcc", "-s", source, "-o", paths[0]], check=True)
        subprocess.run(["gcc", "-c", source, "-o", paths[1]], check=True)
        return tuple(item.read_bytes() for item in paths)


def _elf(path: Path) -> None:
    from mpiric.build.inspection import inspect_file
    from mpiric.host.facts import elf
    from mpiric.host.toolchain import Toolchain

    for reader in (
        elf.read_elf,
        elf.read_exported_symbols,
        elf.read_imported_symbols,
        elf.read_glibc_symbols,
        elf.read_needed_versions,
        elf.read_rpath_tags,
    ):
        reader(str(path))
    report = inspect_file(path, Toolchain(os.environ, 1))
    repr(report).encode()


def _machine_files(path: Path) -> None:
    read_described_machine(MachineRequest(sources=(str(path),)), LocalHost())


def _launch_facts(path: Path) -> None:
    node_topology(launch_facts(path.parent).get("node_shape"))


def _marks(path: Path) -> None:
    directory = path.parent / "marks"
    directory.mkdir(exist_ok=True)
    (directory / "rank-0.7.marks").write_bytes(path.read_bytes())
    read_marks(directory)


def _marks_file() -> tuple[bytes, ...]:
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        crossings = ((1.5, 100, 4000), (4.0, 301, 12001))
        paths = [marks_file(Path(place), rank, crossings=crossings, times_s=(0.5, 1.0)) for rank in (0, 1)]
        return tuple(item.read_bytes() for item in paths)


def _orders(path: Path) -> None:
    (path.parent / "orders").mkdir(exist_ok=True)
    (path.parent / "orders/orders.json").write_bytes(path.read_bytes())
    planned_orders(path.parent)


def _place(*arguments: object) -> Callable[[Path], None]:
    """`mpiric place` for a machine that is described, with the damaged file behind the words."""
    return lambda path: verb("place", "--topology", "pack:2 core:4 pu:2", "--json", *arguments, path)


SITE = b"""[script]
shebang = "#!/bin/bash -l"
account = "nn1234k"
time = "1-0"
modules = ["OpenMPI/5.0", "FFTW"]
environment = { OMP_STACKSIZE = "64M" }
[node]
sockets = 2
cores_per_socket = 64
"""
ORDERS = {
    "choices": [{"name": "mapped", "file": "/x/mapped.txt", "off_node": 0.5, "hop_bytes": 0.7}],
    "hosts": ["a", "b"],
    "why_not": "",
}
FABRIC = {
    "pairs": [{"class": "other node", "latency_us": 2.0, "bandwidth_MBps": 1000.5}],
    "baseline_us": {"other node": [1.0, 1.1, 1.2], "same node": [0.5, 0.6]},
}
REPORT = {"command": "mpirun app", "node_shape": {"host": "a", "cores": [[0, 0, 0, [0, 1]], [1, 0, 0, [2]]]}}
SWITCHES = b"SwitchName=s1 Nodes=n[1-4]\nSwitchName=s2 Nodes=n[5-8]\nSwitchName=t Switches=s[1-2]\n"
YAML = b"nodes: n[1-4]\nslots: 8\ninside: {numa: 4, socket: 8}\nnetwork: torus:2x2\ndistances: {node: 1}\n"
MATRIX = b"%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 1.5\n2 3 4e3\n3 1 7\n"
RECORDS = sorted((DATA / "record").glob("v*/*"))

FORMATS_READ = {
    "log of a tune": Format("events.jsonl", lambda: logs()[:1], _history, damage_lines, share=0.4),
    "log of explored jobs": Format("events.jsonl", lambda: logs()[1:], _explored, damage_lines, share=0.4),
    "recipe": Format(
        "x.toml", files(FORMATS / "recipe.example.toml"), lambda p: read_recipe(p, lambda *_: "")
    ),
    "policy": Format("p", files(FORMATS / "policy.example.txt"), read_policy),
    "learned policy": Format(
        "p.json", files(FORMATS / "policy.example.json"), lambda p: verb("report", p), damage_json
    ),
    "record": Format("record.mpiric", files(*RECORDS), read_record),
    "report of a record": Format("record.mpiric", files(*RECORDS), lambda p: verb("report", p), share=0.2),
    "marks": Format("rank-0.marks", _marks_file, _marks),
    "facts of a report": Format(
        "report.json", texts(json.dumps(REPORT).encode()), _launch_facts, damage_json
    ),
    "order": Format("order.txt", texts(b"# order\n2\n0\n1\n"), read_order),
    "list of orders": Format("orders.json", texts(json.dumps(ORDERS).encode()), _orders, damage_json),
    "graph": Format("g.graph", texts(b"4 4\n2 4\n1 3\n2 4\n1 3\n"), read_graph),
    "matrix": Format("g.mtx", texts(MATRIX), read_graph),
    "text matrix": Format("g.csv", texts(b"0,2,1\n0,0,4\n3,1,0\n"), read_graph),
    "arrays": Format(
        "g.npz", lambda: (_numpy(data=[2.0], row=[0], col=[1], shape=[2, 2]), _numpy(m=np.eye(3))), read_graph
    ),
    "array": Format("g.npy", lambda: (_npy(),), read_graph),
    "numbers": Format("loads.txt", texts(b"1.5\n2\n3\n"), read_numbers),
    "machine in YAML": Format("m.yaml", texts(YAML), _machine_files),
    "switches": Format("topology.conf", texts(SWITCHES), _machine_files),
    "topology": Format(
        "node.xml",
        files(DATA / "machines/laptop.xml", DATA / "machines/gpu_node.xml"),
        lambda p: load_topology(LocalHost(), str(p)),
        share=0.4,
    ),
    "synthetic topology": Format(
        "t", texts(b"pack:2 numa:2 l3:2 core:4 pu:2"), lambda p: load_topology(LocalHost(), str(p)), share=0.4
    ),
    "rankfile": Format(
        "ranks", texts(b"rank 0=n1 slot=0\nrank 1=n1 slot=1:2\n"), _place("--rankfile"), share=0.4
    ),
    "bandwidth": Format(
        "b.json",
        files(DATA / "bandwidth/betzy.json"),
        _place("--ranks", 2, "--bandwidth"),
        damage_json,
        share=0.4,
    ),
    "fabric costs": Format(
        "f.json",
        texts(json.dumps(FABRIC).encode()),
        lambda p: read_described_machine(MachineRequest(hosts=("a",), fabric=p), LocalHost()),
        damage_json,
    ),
    "fabric baseline": Format(
        "f.json", texts(json.dumps(FABRIC).encode()), read_fabric_baseline, damage_json
    ),
    "site defaults": Format(
        "site.toml", texts(SITE), lambda p: read_site_defaults({}, p, LocalHost().read_text)
    ),
}
if find_spec("darshan"):
    LOGS = Path(str(find_spec("darshan").origin)).parent / "tests/input"  # type: ignore[union-attr]
    FORMATS_READ["Darshan log"] = Format(
        "x.darshan", files(LOGS / "sample.darshan"), lambda p: read_darshan_log(p, LocalHost()), share=0.05
    )


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DATA", "STATE", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", FORMATS_READ)
def test_good_files_are_read(kind: str, place: Path) -> None:
    for sample in FORMATS_READ[kind].samples():
        path = place / FORMATS_READ[kind].name
        path.write_bytes(sample)
        FORMATS_READ[kind].read(path)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", FORMATS_READ)
def test_damaged_files_are_read_or_refused(kind: str, count: int, place: Path) -> None:
    fuzz(FORMATS_READ[kind], count, place)


@pytest.mark.requires("gcc")
@pytest.mark.parametrize("count", COUNTS)
def test_damaged_executables_are_read_or_refused(count: int, place: Path) -> None:
    fuzz(Format("program", elf_files, _elf, _damage_elf), count, place)


def _damage_elf(data: bytes, chance: random.Random) -> bytes:
    """Damage an ELF file, in half of the cases its header and tables."""
    if chance.random() < 0.5:
        return damage(data, chance)
    start, size = chance.choice([(0, 64), (64, 800), (len(data) - 2000, 2000)])
    start = max(0, start)
    return (
        data[:start]
        + damage(data[start : start + size], chance)[:size].ljust(size, b"\0")
        + data[start + size :]
    )
