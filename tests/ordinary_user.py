"""Run tests as an ordinary user between two others: ``python -m tests.ordinary_user [PYTEST ARGUMENT]…``.

The user has a copy of this checkout of their own, and shares /tmp and /dev/shm with two users who have
planted links, FIFOs and directories there under the names that mpiric and MPI libraries use. Only root can do
this. The exit status is pytest's, or 1 where a planted file has changed.
"""

import os
import shutil
import socket
import stat
import subprocess
import sys
from dataclasses import replace

from tests.support.users import ROOT, Machine, User, users

BUILT = (".venv", "build/programs", "build/native", "src/mpiric/_native", "src/mpiric/report/library")
ARGUMENTS = ("tests/security", "tests/python", "tests/system")


def copy_checkout(owner: User) -> None:
    """Give the owner a clone, with uncommitted changes and with the parts that `make setup` makes."""
    target = owner.machine.checkout
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", ROOT, target], check=True)
    listing = ["git", "ls-files", "-z", "--modified", "--others", "--exclude-standard"]
    changed = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, changed.split("\0")):
        (target / name).unlink(missing_ok=True)
        if (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    for name in BUILT:
        if (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-a", "-T", ROOT / name, target / name], check=True)
    subprocess.run(["chown", "-R", "-h", f"{owner.uid}:{owner.gid}", target], check=True)


def plant(owner: User, other: User, stranger: User) -> None:
    """Plant files under names that mpiric, MPI libraries and pytest use for the owner."""
    uid, host, private = owner.uid, socket.gethostname(), owner.home / ".bashrc"
    owner.run("sh", "-c", "umask 077; echo 'alias ls=ls' >.bashrc", check=True)
    commands = {
        other: (
            f"mkdir -m 777 /tmp/mpiric-{uid} /tmp/mpiric-pack-{uid} /tmp/pytest-of-owner",
            f"mkdir -m 777 /tmp/ompi.{host}.{uid}",
            f"ln -s /etc /tmp/mpiric-{uid}/links",
            "echo x >/tmp/hydra_hwloc_xmlfile_abcdef",
            f"echo x >/dev/shm/mpich_shm_1234abcd_0; echo x >/dev/shm/sm_segment.{host}.{uid}.12340001.0",
            f"mkfifo -m 666 {owner.machine.project}/mpiric.toml /tmp/mpiric-1.json",
            f"ln -s {private} {owner.machine.project}/report.html",
        ),
        stranger: (
            f"ln -s {private} /tmp/mpiric-{uid}-log; ln -s {owner.home} /tmp/pmix_dstor_ds12_1",
            f"mkdir -m 777 /tmp/openmpi-sessions-{uid}@{host}_0; mkfifo -m 666 /tmp/site.toml",
            "echo x >/dev/shm/psm2_shm.1; mkfifo -m 666 /dev/shm/ucx_shm_posix_1",
            f"ln -s {private} /dev/shm/mpich_shm_5678abcd_0",
        ),
    }
    for user, lines in commands.items():
        user.run("sh", "-ec", "\n".join(lines), check=True, cwd="/")


def planted_state(machine: Machine, owner: User) -> dict[str, tuple[int, ...]]:
    """Owner, mode and size of each file of the two others, and of the owner's private file."""
    places = (machine.tmp, machine.shm, machine.project)
    paths = [owner.home / ".bashrc", *(path for place in places for path in place.rglob("*"))]
    states = {str(path): path.lstat() for path in paths}
    return {
        name: (state.st_uid, stat.S_IFMT(state.st_mode), stat.S_IMODE(state.st_mode), state.st_size)
        for name, state in states.items()
        if state.st_uid != owner.uid or name.endswith(".bashrc")
    }


def run(arguments: list[str]) -> int:
    """Run pytest as the owner; return its exit status, or 1 where a planted file has changed."""
    with users() as people:
        machine = replace(people[0].machine, checkout=people[0].machine.base / "checkout")
        owner, other, stranger = (replace(user, machine=machine) for user in people)
        copy_checkout(owner)
        plant(owner, other, stranger)
        before = planted_state(machine, owner)
        command = [ROOT / ".venv/bin/python", "-m", "pytest", "--basetemp=/tmp/tests", *arguments]
        environment = {"PYTHONDONTWRITEBYTECODE": "", "MPIRIC_SWEEP": os.environ.get("MPIRIC_SWEEP", "")}
        done = owner.run(*command, cwd=ROOT, env=environment, capture_output=False, timeout=None)
        after = planted_state(machine, owner)
        changed = sorted(name for name in before if after.get(name) != before[name])
        for name in changed:
            print(f"a file of another user has changed: {name}")
        return done.returncode or bool(changed)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:] or list(ARGUMENTS)))
