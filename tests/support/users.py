"""Three ordinary users of one machine: `owner`, who runs mpiric, `other` and `stranger`.

Their processes run with separate user ids and without capabilities. They see this checkout and its Python
read-only, their own homes, and a private /tmp and /dev/shm that only the three share, so that a test can
compare all names in them before and after. ``project`` is a directory of the group that `owner` and `other`
share, group-writable and without the sticky bit, where the kernel does not protect from links.
"""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import clean_environment

ROOT = Path(__file__).parents[2]
USERS = ("root", "mounts", "setpriv", "unshare")  # capabilities that `users` needs
# Ids that are unique to this test process: leftovers of a user are found by the numeric id.
GROUP = 40000 + os.getpid() % 6000 * 4
FIRST_UID = GROUP + 1
_CHECKOUT = ".checkout"

# $1: directory of the machine; then pairs (source, target) to bind, "--", and the command.
_ENTER = r"""
set -e
while [ "$1" != -- ]; do
    if [ "$1" = tmpfs ]; then mount -t tmpfs -o mode=755 tmpfs "$2"
    else [ -e "$2" ] || mkdir -p "$2"; mount --bind "$1" "$2"; fi
    shift 2
done
shift
exec "$@"
"""


@dataclass(frozen=True)
class Machine:
    """Directories that the users share."""

    base: Path
    tmp: Path  # the users see it as /tmp
    shm: Path  # the users see it as /dev/shm
    project: Path
    checkout: Path = ROOT  # the users see it where this checkout is

    @property
    def passwd(self) -> Path:
        """The file that the users see as /etc/passwd, with their own names in it."""
        return self.base / ".passwd"

    def names(self) -> set[str]:
        """Return all paths below /tmp and /dev/shm, as the users see them."""
        places = {"/tmp": self.tmp, "/dev/shm": self.shm}
        return {
            f"{mounted}/{path.relative_to(real)}"
            for mounted, real in places.items()
            for path in real.rglob("*")
            if not (ROOT.is_relative_to(mounted) and path.relative_to(real).parts[0] == ROOT.parts[2])
        }


@dataclass(frozen=True)
class User:
    """User with a numeric id and a home."""

    name: str
    uid: int
    gid: int
    home: Path
    machine: Machine

    def words(self, *command: object) -> list[str]:
        """Return the command line that runs a command as this user."""
        user = [f"--reuid={self.uid}", f"--regid={self.gid}", f"--groups={self.gid}"]
        setpriv = ["setpriv", *user, "--inh-caps=-all", "--bounding-set=-all"]
        enter = ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", _ENTER, "sh"]
        return [*enter, *_mounts(self.machine), "--", *setpriv, *map(str, command)]

    @property
    def environment(self) -> dict[str, str]:
        """A clean environment with this user's home."""
        variables = {name: value for name, value in clean_environment().items() if "RUN_AS_ROOT" not in name}
        for name in ("TMPDIR", "TMP", "TEMP", "MPIRIC_REQUIRE"):
            variables.pop(name, None)
        return {**variables, "HOME": str(self.home), "USER": self.name, "PYTHONDONTWRITEBYTECODE": "1"}

    def run(
        self, *command: object, env: dict[str, str] | None = None, check: bool = False, **options
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as this user, in their home; ``env`` is added."""
        options = {"cwd": self.home, "timeout": 240, "capture_output": True, "text": True, **options}
        where = str(options.pop("cwd"))
        enter = ["/bin/sh", "-c", 'cd "$1" && shift && umask 022 && exec "$@"', "sh", where]
        done = subprocess.run(
            self.words(*enter, *command), env={**self.environment, **(env or {})}, cwd="/", **options
        )
        assert not check or done.returncode == 0, done.stderr
        return done

    def python(self, script: str, *arguments: object, **options) -> subprocess.CompletedProcess[str]:
        """Run Python text as this user; it must succeed."""
        return self.run(sys.executable, "-c", script, *arguments, **{"check": True, **options})

    def mpiric(self, *arguments: object, **options) -> subprocess.CompletedProcess[str]:
        """Run mpiric as this user."""
        return self.run(Path(sys.executable).with_name("mpiric"), *arguments, **options)


def _mounts(machine: Machine) -> list[str]:
    """Pairs of `_ENTER`: the private /tmp and /dev/shm, then the checkout and Python where they are."""
    visible = list(dict.fromkeys([str(ROOT), sys.base_prefix, str(machine.base)]))
    saved = {path: str(machine.base / f"{_CHECKOUT}{number}") for number, path in enumerate(visible)}
    sources = {str(ROOT): str(machine.checkout)}
    pairs = [word for path in visible[:-1] for word in (sources.get(path, path), saved[path])]
    pairs += [str(machine.tmp), "/tmp", str(machine.shm), "/dev/shm", str(machine.passwd), "/etc/passwd"]
    hidden = {str(top) for path in visible if (top := _first_closed(Path(path)))}
    for top in sorted(hidden):
        pairs += ["tmpfs", top]
    for path in visible[:-1]:
        is_covered = any(Path(path).is_relative_to(top) for top in (*hidden, "/tmp", "/dev/shm"))
        if is_covered or Path(sources.get(path, path)) != Path(path):
            pairs += [saved[path], path]
    return pairs


def _first_closed(path: Path) -> Path | None:
    """Return the topmost directory of a path that other users may not enter."""
    for directory in [*reversed(path.parents), path]:
        if not directory.stat().st_mode & stat.S_IXOTH:
            return directory
    return None


@contextmanager
def users() -> Iterator[tuple[User, User, User]]:
    """`owner`, `other` and `stranger` on a machine of their own; everything is removed at the end."""
    base = Path(tempfile.mkdtemp(prefix="mpiric-users-", dir="/var/tmp"))
    try:
        base.chmod(0o755)
        machine = Machine(base, base / "tmp", base / "shm", base / "project")
        for place in (machine.tmp, machine.shm):
            place.mkdir()
            place.chmod(0o1777)
        machine.project.mkdir()
        os.chown(machine.project, FIRST_UID, GROUP)
        machine.project.chmod(0o2775)
        users, accounts = [], [Path("/etc/passwd").read_text()]
        for number, name in enumerate(("owner", "other", "stranger")):
            uid = FIRST_UID + number
            gid = uid if name == "stranger" else GROUP
            home = base / name
            home.mkdir()
            os.chown(home, uid, gid)
            home.chmod(0o700)
            users.append(User(name, uid, gid, home, machine))
            accounts.append(f"{name}:x:{uid}:{gid}::{home}:/bin/sh\n")
        machine.passwd.write_text("".join(accounts))
        yield users[0], users[1], users[2]
    finally:
        shutil.rmtree(base, ignore_errors=True)
