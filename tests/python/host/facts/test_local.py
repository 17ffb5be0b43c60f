from pathlib import Path

import psutil
import pytest

from mpiric.host.facts.local import LocalHost


def test_a_missing_program_has_status_127():
    assert LocalHost().run(["no-such-program-anywhere"]).status == 127


def test_a_program_that_hangs_is_ended_with_its_children(tmp_path: Path, eventually):
    mark = tmp_path / "child"
    script = f"sleep 600 & echo $! > {mark}; wait"
    for timeout_s in (1, 10, 100):  # long enough for the child to start
        assert LocalHost().run(["sh", "-c", script], timeout_s=timeout_s).status == 124
        if mark.exists() and mark.read_text():
            break
    assert eventually(lambda: _is_gone(int(mark.read_text())))


def _is_gone(pid: int) -> bool:
    """Return whether the process has ended or is a zombie."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_program_gets_no_input():
    assert LocalHost().run(["cat"]).stdout == ""


def test_variables_are_added_to_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("KEPT", "a")
    answer = LocalHost().run(["sh", "-c", "echo $KEPT$ADDED"], environment={"ADDED": "b"})
    assert answer.stdout == "ab\n"


def test_bytes_that_are_not_text_are_accepted(tmp_path: Path):
    (tmp_path / "f").write_bytes(b"a\xff\x00b")
    assert "a" in (LocalHost().read_text(str(tmp_path / "f")) or "")


def test_a_directory_is_not_a_text_file(tmp_path: Path):
    assert LocalHost().read_text(str(tmp_path)) is None


def test_a_path_with_a_zero_byte_is_absent():
    host = LocalHost()
    assert host.read_text("/a\0b") is None
    assert not host.is_file("/a\0b")


def test_a_script_has_no_dynamic_section(tmp_path: Path):
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    assert LocalHost().elf(str(tmp_path / "run.sh")) is None


def test_a_truncated_executable_has_no_dynamic_section(tmp_path: Path):
    (tmp_path / "cut").write_bytes(Path("/bin/ls").read_bytes()[:200])
    assert LocalHost().elf(str(tmp_path / "cut")) is None


def test_the_requirements_of_an_executable_are_read():
    elf = LocalHost().elf("/bin/ls")
    assert elf is not None
    assert "libc.so.6" in elf.needed
    assert elf.interpreter.startswith("/lib")


@pytest.mark.requires("libhwloc.so.15")
def test_hwloc_describes_this_machine_and_another():
    host = LocalHost()
    assert "<topology" in (host.topology_xml() or "")
    synthetic = host.topology_xml("core:2 pu:1") or ""
    assert synthetic.count('type="Core"') == 2
    assert (host.topology_xml(synthetic) or "").count('type="Core"') == 2


@pytest.mark.requires("libhwloc.so.15")
def test_hwloc_rejects_nonsense():
    assert LocalHost().topology_xml("quux:3") is None
    assert LocalHost().topology_xml("<quux/>") is None
