"""Files that others wrote or named: damaged, special, too large, or no files at all."""

import ast
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.support.fuzzing import verb

from mpiric.host import files
from mpiric.host.facts import hwloc
from mpiric.host.facts.local import LocalHost
from mpiric.host.host import Completed
from mpiric.machine import load_topology
from mpiric.machine.topology import topology_of
from mpiric.mapping.read import read_graph
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.json_text import json_lines, parse_json, read_fields
from mpiric.model.policy import Measured, Shape
from mpiric.profile import darshan
from mpiric.profile.read import read_record
from mpiric.tuning.events import moment, read_log
from mpiric.tuning.store import EVENTS, Lock, Store
from mpiric.workflows.trials.users_lab import inputs_seen

SOURCES = Path(__file__).parents[2] / "src/mpiric"
LONG = "x" * 300
NOT_PATHS = [LONG, "a\0b", "/" + "y/" * 4000, "", "\ud800"]
META = {"event": "meta", "at": "2026-01-01T00:00:00", "job": "j", "command": ["mpirun", "a"]}


@pytest.mark.parametrize("text", NOT_PATHS)
def test_a_text_that_cannot_be_a_path_names_no_file(text):
    assert not files.is_file(text)
    assert not files.is_directory(text)
    assert not files.exists(text)
    host = LocalHost()
    assert host.read_text(text) is None
    assert not host.is_file(text)
    assert host.list_dir(f"{text}/x") == ()
    assert host.space(f"{text}/x") is None
    assert isinstance(host.real_path(text), str)
    with pytest.raises(MpiricError):
        files.read_bounded(text, "file", 1 << 20)


def test_a_directory_that_may_not_be_searched_holds_no_file(tmp_path, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "stat", refused)
    assert not files.is_file(tmp_path / "a")
    with pytest.raises(NotFoundError, match="Permission denied"):
        files.read_bounded(tmp_path / "a", "file", 1 << 20)


def test_long_arguments_of_a_command_are_no_inputs(tmp_path):
    from mpiric import launchers

    (tmp_path / "in.dat").touch()
    job = launchers.parse_command(
        ["mpirun", "-n", "2", "./a", LONG, f"--x={LONG}", "in.dat"], str(tmp_path), {}
    )
    assert set(inputs_seen(job)) == {"in.dat"}


# These look at what mpiric itself has written, in directories of its own.
OWN_DIRECTORIES = {
    "build/plain_link.py",
    "host/installation/native.py",
    "host/isolation/overlaid.py",
    "host/isolation/working_copies.py",
    "report/profile_html.py",
}
# Entries of a directory that scandir gave, which have been looked at already, and a host.
ENTRIES = {"each", "entry", "host"}


def _raw_probes(path: Path) -> list[str]:
    return [
        f"{path.relative_to(SOURCES)}:{node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("exists", "is_file", "is_dir")
        and not node.args
        and ast.unparse(node.func.value) not in ENTRIES
    ]


def test_no_path_is_probed_with_a_predicate_that_may_raise():
    files_of_users = [
        path for path in SOURCES.rglob("*.py") if str(path.relative_to(SOURCES)) not in OWN_DIRECTORIES
    ]
    assert len(files_of_users) > 300
    assert [probe for path in files_of_users for probe in _raw_probes(path)] == []


@pytest.mark.parametrize("kind", ["fifo", "directory", "device"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "{}"),
        ("map", "--hierarchy", "2:2", "--graph", "{}.csv"),
        ("map", "--hierarchy", "2:2", "--graph", "{}.csv", "--weights", "{}.csv"),
        ("place", "--ranks", "2", "--topology", "{}"),
        ("place", "--topology", "pack:2 core:2", "--rankfile", "{}"),
        ("place", "--topology", "pack:2 core:2", "--ranks", "2", "--bandwidth", "{}"),
        ("script", "--ranks", "2", "--defaults", "{}", "--", "./a"),
        ("inspect", "{}"),
        ("extract", "{}", "--target", "haswell"),
        ("verify", "{}"),
        ("run", "--recipe", "{}", "--", "mpirun", "-n", "1", "true"),
        ("run", "--no-recipe", "--policy", "{}", "--", "mpirun", "-n", "1", "true"),
        ("run", "--no-recipe", "--rank-order", "{}", "--", "mpirun", "-n", "1", "true"),
        ("script", "--ranks", "2", "--recipe", "{}", "--", "./a"),
        ("pack", "--recipe", "{}", "--", "mpirun", "-n", "1", "/bin/true"),
        ("pack", "--no-recipe", "--", "mpirun", "-n", "1", "{}"),
        ("map", "{}"),
        ("map", "--hierarchy", "2:2", "--grid", "2x2", "--stencil", "5", "--spread", "{}"),
        ("map", "--grid", "2x2", "--stencil", "5", "--machine", "{}"),
        ("map", "--grid", "2x2", "--stencil", "5", "--hierarchy", "2:2", "--fabric", "{}"),
        ("machine", "--topology", "{}"),
        ("doctor", "--darshan", "{}"),
        ("history", "--against", "{}.toml", "--", "mpirun", "./a"),
        ("history", "--against", "{}.json", "--", "mpirun", "./a"),
    ],
    ids=lambda arguments: f"{arguments[0]}-{arguments[-2].strip('-')}",
)
def test_a_special_file_is_refused_and_does_not_block(arguments, kind, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("x", "x.csv", "x.toml", "x.json"):
        if kind == "fifo":
            os.mkfifo(tmp_path / name)
        elif kind == "directory":
            (tmp_path / name).mkdir()
        else:
            (tmp_path / name).symlink_to("/dev/zero")
    signal.alarm(100)
    try:
        with pytest.raises((MpiricError, SystemExit)):
            verb(*(word.format(tmp_path / "x") for word in arguments))
    finally:
        signal.alarm(0)


def test_the_site_file_of_the_environment_may_not_be_a_fifo(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "site.toml")
    monkeypatch.setenv("MPIRIC_SITE", str(tmp_path / "site.toml"))
    with pytest.raises(MpiricError, match="not a regular file"):
        verb("script", "--ranks", "2", "--", "./a")


def test_a_pipe_of_this_process_is_read(tmp_path):
    reading, writing = os.pipe()
    os.write(writing, b"pack:1 core:2 pu:1")
    os.close(writing)
    assert LocalHost().read_text(f"/dev/fd/{reading}") == "pack:1 core:2 pu:1"
    os.close(reading)


def test_files_of_the_kernel_have_no_size_and_are_read():
    assert "processor" in (LocalHost().read_text("/proc/cpuinfo") or "")


def test_a_file_that_is_too_large_is_refused_with_the_limit(tmp_path):
    path = tmp_path / "big.xml"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert LocalHost().read_text(str(path)) is None
    with pytest.raises(MpiricError, match="64 MiB"):
        load_topology(LocalHost(), str(path))
    with pytest.raises(MpiricError, match="1024 MiB"):
        read_graph(path.rename(tmp_path / "big.csv"))


def test_arrays_that_grow_when_they_are_unpacked_are_refused(tmp_path):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, m=np.zeros((9000, 9000)))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(MpiricError, match="512 MiB") as caught:
        read_graph(path)
    assert "save_npz" in caught.value.hint


def _store(place: Path, **events: list[dict]) -> Path:
    for name, lines in events.items():
        (place / name).mkdir(parents=True)
        (place / name / EVENTS).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return place


@pytest.mark.parametrize(
    "result",
    [
        {"ratio": "0.9"},
        {"ratio": float("nan")},
        {"ratio": []},
        [],
        "x",
        {"changes": ["x"]},
        {"tried": 1},
        {"verdict": ["faster"]},
        {"ratio": 10**400},
        {"elapsed_s": 10**400},
    ],
)
def test_one_damaged_tune_does_not_hide_the_others(tmp_path, result):
    good = {
        "event": "finished",
        "at": "2026-01-01T01:00:00+00:00",
        "result": {"ratio": 0.9, "verdict": "faster"},
    }
    store = _store(tmp_path / "store", a=[META, {**good, "result": result}], b=[META, good])
    assert [tune.damaged_lines for tune in Store(store).tunes()] == [1, 0]
    assert [tune.finished for tune in Store(store).tunes()] == [False, True]
    verb("history", "--store", store)
    verb("history", "--store", store, "--json")


@pytest.mark.parametrize("key", ["at", "command", "job", "objective"])
@pytest.mark.parametrize("value", [1, None, ["x", 1], {}, 1e400])
def test_a_first_line_of_wrong_types_counts_as_damaged(tmp_path, key, value):
    store = _store(tmp_path / "store", a=[{**META, key: value}])
    (tune,) = Store(store).tunes()
    assert tune.damaged_lines == 1
    verb("history", "--store", store)


def test_a_surrogate_is_replaced_where_it_is_read(tmp_path):
    store = _store(tmp_path / "store", a=[{**META, "command": ["mpirun", "a\ud800"]}])
    assert read_log(store / "a" / EVENTS).meta["command"] == ["mpirun", "a\ufffd"]
    assert parse_json('{"\\uDfFf": ["\\ud83d\\ude00"]}') == {"\ufffd": ["😀"]}


def test_a_time_without_a_zone_is_utc_and_anything_else_none():
    assert moment("2026-01-01T00:00:00") == moment("2026-01-01T00:00:00+00:00")
    assert moment("2026-01-01T02:00:00+02:00") == moment("2026-01-01T00:00:00")
    assert [moment(text) for text in ("", "x", "0001-01-01T00:00:00+14:00", "١")] == [None] * 4


def test_a_log_that_is_a_fifo_is_empty(tmp_path):
    os.mkfifo(tmp_path / EVENTS)
    assert read_log(tmp_path / EVENTS).trials == ()


@pytest.mark.parametrize(
    "fields",
    [
        {"ranks": "4"},
        {"ranks": True},
        {"ranks": 2**70},
        {"ranks": 1.5},
        {"ranks": None},
        [],
        None,
        {"order": "x"},
    ],
)
def test_fields_of_wrong_types_are_refused(fields):
    shape = {"ranks": 4, "nodes": 2, "ranks_per_node": 2}
    assert read_fields(Shape, {**shape, "later": 1}) == Shape(4, 2, 2)
    with pytest.raises(ValueError, match="Shape"):
        read_fields(
            Shape, {**shape, **fields} if isinstance(fields, dict) and "order" not in fields else fields
        )


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 10**400, "1", True])
def test_only_finite_numbers_are_numbers(value):
    with pytest.raises(ValueError, match="median_s"):
        read_fields(Measured, {"name": "a", "calls": 1, "median_s": value, "low_s": 1, "high_s": 1})


def test_damaged_lines_of_output_are_left_out():
    text = 'x\n[0] {"a": 1}\n{"a": 2\n{"a": 3} y\n' + "[" * 5000 + "\n[1]\n"
    assert list(json_lines(text)) == [{"a": 1}]


@pytest.mark.parametrize(
    ("slot", "row"),
    [
        ("7:*", {}),
        ("1:9", {}),
        ("0-999999", {}),
        ("0", {"cores": float("inf")}),
        ("0", {"mb_s": float("nan")}),
    ],
)
def test_numbers_that_no_machine_has_are_refused(tmp_path, slot, row):
    ranks, table = tmp_path / "ranks", tmp_path / "b.json"
    ranks.write_text(f"rank 0=n1 slot={slot}\n")
    table.write_text(json.dumps({"bandwidth": [{"cores": 2, "spacing": 1, "mb_s": 1.0, **row}]}))
    command = ("--ranks", 2, "--bandwidth", table) if row else ("--rankfile", ranks)
    with pytest.raises(MpiricError):
        verb("place", "--topology", "pack:2 core:4 pu:1", *command)


def test_an_executable_without_its_tables_is_damaged(tmp_path):
    data = bytearray(Path(os.path.realpath(sys.executable)).read_bytes())
    (tmp_path / "cut").write_bytes(data[: len(data) // 2])
    data[40:48] = (10**9).to_bytes(8, "little")
    (tmp_path / "none").write_bytes(data)
    for name in ("cut", "none"):
        with pytest.raises(MpiricError, match="is damaged"):
            verb("inspect", tmp_path / name)


def test_where_no_process_can_be_started_a_sentence_says_so():
    """Root is not limited in its processes; a thread that cannot be started represents the limit."""
    from mpiric.cli._errors import _explain
    from mpiric.model.errors import ExitCode

    assert _explain(RuntimeError("can't start new thread")) == ExitCode.NO_ROOM
    assert _explain(MemoryError()) == ExitCode.NO_ROOM
    assert _explain(BlockingIOError(11, "Resource temporarily unavailable")) == ExitCode.NO_ROOM


def test_a_library_that_dies_over_a_topology_does_not_take_mpiric_along(tmp_path, monkeypatch):
    dying = tmp_path / "dying.py"
    dying.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    monkeypatch.setattr(hwloc, "__file__", str(dying))
    node = tmp_path / "node.xml"
    node.write_text((Path(__file__).parents[1] / "data/machines/laptop.xml").read_text())
    with pytest.raises(MpiricError, match=r"node\.xml: .*SIGSEGV"):
        load_topology(LocalHost(), str(node))
    monkeypatch.setenv("HWLOC_XMLFILE", str(node))
    with pytest.raises(MpiricError, match=r"HWLOC_XMLFILE=.*SIGSEGV"):
        topology_of(LocalHost())


def test_this_machine_is_described_without_another_process(monkeypatch):
    for name in hwloc.redirections(os.environ):
        monkeypatch.delenv(name)
    monkeypatch.setattr(subprocess, "run", None)
    assert topology_of(LocalHost()).pus


class Dying(LocalHost):
    def run(self, *_, **__) -> Completed:
        return Completed(-11, "", "")


@pytest.mark.requires("imports:darshan")
def test_a_log_that_pydarshan_dies_over_is_refused_by_name(tmp_path):
    (tmp_path / "x.darshan").write_text("x")
    with pytest.raises(MpiricError, match=r"x\.darshan cannot be read .*SIGSEGV"):
        darshan.read_log(tmp_path / "x.darshan", Dying())
    os.mkfifo(tmp_path / "y.darshan")
    with pytest.raises(MpiricError, match="not a regular file"):
        darshan.read_log(tmp_path / "y.darshan", LocalHost())


def test_a_record_that_is_a_fifo_is_refused(tmp_path):
    os.mkfifo(tmp_path / "record.mpiric")
    with pytest.raises(MpiricError, match="not a regular file"):
        read_record(tmp_path / "record.mpiric")


@pytest.mark.parametrize("number", ["1" + "0" * 400, "-" + "9" * 20, str(2**64)])
def test_integers_of_more_than_64_bits_are_no_json_of_ours(number):
    with pytest.raises(ValueError, match="64-bit"):
        parse_json(f'{{"wall_s": {number}}}')
    assert parse_json(str(2**64 - 1)) == 2**64 - 1


@pytest.mark.parametrize("owner", [{"pid": float("inf")}, {"pid": 1, "started": 10**400}, {"pid": []}, []])
def test_a_damaged_lock_is_nobodys(tmp_path, owner):
    text = json.dumps({"host": "n1", "pid": 1, "started": 1.0, **owner} if isinstance(owner, dict) else owner)
    (tmp_path / "lock").write_text(text)
    assert Lock.holder(tmp_path / "lock") == ""


def test_a_special_file_is_not_left_out_of_a_pack_without_a_word(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    program = "/bin/true"
    with pytest.raises(MpiricError, match="not a regular file"):
        verb("pack", "--with", tmp_path / "fifo", "-o", tmp_path / "x.pack", "--", "mpirun", program)
    assert not (tmp_path / "x.pack").exists()
