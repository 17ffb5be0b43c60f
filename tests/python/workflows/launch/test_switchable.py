"""Programs that no other MPI library can be put under, each named with the reason."""

import os
import subprocess
from dataclasses import replace

import pytest
from tests.support.replay_host import Recording, ReplayHost, command_key

from mpiric.host.host import Completed, Elf
from mpiric.workflows.launch.loadable import _SECURE, why_not_switchable

PYTHON, APP = "/usr/bin/python3", "/home/u/app"
PLAIN = Elf("", ("libmpi.so.12",), (), "/lib64/ld-linux-x86-64.so.2", processor="x86_64")


def why(
    elf: Elf | None, *names: str, is_setuid: bool = False, attributes: dict[str, str] | None = None
) -> str:
    """Return the reason why a program with these facts cannot be switched."""
    command = command_key(("sh", "-c", _SECURE, "sh", APP), None)
    recording = Recording(
        python=PYTHON,
        elfs={PYTHON: PLAIN, **({APP: elf} if elf else {})},
        commands={command: Completed(0 if is_setuid else 1, "", "")},
        attributes=attributes or {},
    )
    return why_not_switchable(APP, names or ("libmpi.so.12",), ReplayHost(recording))


def test_an_ordinary_program_runs_under_others():
    assert why(PLAIN, "libmpi.so.12", "libmpifort.so.12") == ""


def test_of_a_script_nothing_is_known():
    assert why(None) == ""


def test_a_static_program_keeps_its_library():
    assert (
        why(replace(PLAIN, interpreter="", needed=()))
        == f"{APP} is linked statically: its MPI library is a part of it"
    )


@pytest.mark.parametrize(
    "facts",
    [{"is_setuid": True}, {"attributes": {f"{APP}\0security.capability": "01"}}],
    ids=["setuid", "capable"],
)
def test_one_with_other_rights_than_the_users_is_named(facts):
    assert why(PLAIN, **facts).startswith(f"{APP} is setuid, setgid or has capabilities")


def test_one_for_another_processor_is_named():
    reason = why(replace(PLAIN, processor="aarch64"))
    assert reason == f"{APP} is for aarch64, and this machine's libraries are for x86_64"


def test_two_families_in_one_process_are_named():
    sentence = why(PLAIN, "libmpi.so.12", "libmpi.so.40")
    assert sentence.startswith(
        f"{APP} loads libmpi.so.12 and libmpi.so.40: MPI libraries of two ABI families"
    )


def test_a_library_of_an_unknown_family_is_named():
    sentence = why(replace(PLAIN, needed=("libmpi.so.20",)))
    assert sentence == f"{APP} is linked to libmpi.so.20, which is of no ABI family that is known"


@pytest.mark.requires("root")
@pytest.mark.parametrize(("mode", "is_secure"), [(0o755, False), (0o4755, True), (0o2755, True)])
def test_the_shell_tells_who_gets_rights_of_others(tmp_path, mode, is_secure):
    program = tmp_path / "program"
    program.touch()
    os.chown(program, 65534, 65534)
    program.chmod(mode)
    done = subprocess.run(["sh", "-c", _SECURE, "sh", program], check=False)
    assert (done.returncode == 0) == is_secure
