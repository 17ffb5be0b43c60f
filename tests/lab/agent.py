"""Replacement of ssh for MPI launchers: ``ssh [options] HOST COMMAND…``.

Like sshd it gives the command the clean environment of a login; the launcher forwards other variables.
"""

import os
import pwd
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from tests.lab.enter import become
from tests.lab.errors import LabError

_ROOT = Path(__file__).parents[2]
_TAKES_VALUE = set("BbcDEeFIiJLlmOopQRSWw")  # options of ssh(1)


def write_agent(directory: Path) -> None:
    """``bin/ssh`` in the cluster's directory, which is on every host's PATH: launchers find it there."""
    program = directory / "bin/ssh"
    program.parent.mkdir(exist_ok=True)
    start = (
        f"import sys; sys.path.insert(0, {str(_ROOT)!r}); "
        "from tests.lab.agent import main; main(sys.argv[1], sys.argv[2:])"
    )
    command = [sys.executable, "-E", "-S", "-c", start, str(directory)]
    program.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    program.chmod(0o755)


def split(command: Sequence[str]) -> tuple[str, list[str]]:
    """Return host and command of an ssh command line; ``root@n1-fast0`` is n1."""
    remaining = list(command)
    while remaining and remaining[0].startswith("-"):
        option = remaining.pop(0)
        if option == "--":
            break
        valued = next((at for at, letter in enumerate(option) if letter in _TAKES_VALUE), None)
        if valued == len(option) - 1 and remaining:  # otherwise the value is attached: -oBatchMode=yes
            remaining.pop(0)
    if not remaining:
        raise LabError("no host is named", hint="ssh [options] HOST COMMAND…")
    host = remaining.pop(0).rpartition("@")[2].partition("-")[0]
    return host, remaining


def main(directory: str, arguments: Sequence[str]) -> NoReturn:
    """Run the command line by a shell on the host, as sshd does."""
    try:
        host, command = split(arguments)
        user = pwd.getpwuid(os.getuid())
        environment = {
            "HOME": user.pw_dir,
            "USER": user.pw_name,
            "LOGNAME": user.pw_name,
            "SHELL": "/bin/sh",
            "PATH": f"{directory}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        }
        os.chdir(user.pw_dir)
        become(
            Path(directory), host, ["/bin/sh", *(["-c", " ".join(command)] if command else [])], environment
        )
    except (LabError, OSError) as error:
        print(f"ssh: {error}", file=sys.stderr)
        sys.exit(255)
