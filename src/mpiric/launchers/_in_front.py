"""Programs in front of the launcher that hide the launch line from mpiric, and where to write mpiric."""

from collections.abc import Callable, Sequence
from re import escape, fullmatch, search, sub

from mpiric.launchers._dialect import words
from mpiric.model.errors import MpiricError
from mpiric.model.quoting import sh_command

_SHELLS = frozenset(words("sh bash dash zsh ksh fish csh tcsh"))
_TOOLS = frozenset(  # examine or start the command that follows their own options
    words(
        """perf strace ltrace valgrind gdb cgdb lldb rr script xvfb-run sudo doas su runuser conda mamba
        micromamba pixi poetry pipenv hatch pdm rye uv uvx nix nix-shell guix spack ssh shifter sarus enroot
        salloc sbatch watch xargs parallel flock systemd-run unshare nsenter chroot setarch prlimit hyperfine
        cgexec firejail nsys ncu vtune aps likwid-perfctr likwid-pin scalasca scan tau_exec heaptrack memray
        dbus-run-session screen tmux tsp module proot make gmake ninja just"""
    )
)
_OF_RANKS = frozenset(words("valgrind gdb cgdb lldb rr perf strace ltrace heaptrack"))


def refuse_hidden_launcher(arguments: Sequence[str], is_launcher: Callable[[str], bool]) -> None:
    """Raise MpiricError if a program in front of the launcher hides it, with the line to write instead."""
    name = arguments[0].rsplit("/", 1)[-1]
    runs_script = name in _SHELLS and any(fullmatch(r"-[a-z]*c", word) for word in arguments[1:3])
    if name not in _TOOLS and not runs_script:
        return
    at = next((at for at, word in enumerate(arguments) if at and is_launcher(word)), 0)
    script = next((word for word in arguments[1:] if " " in word and _launcher_in(word, is_launcher)), "")
    if script:
        launcher = _launcher_in(script, is_launcher)
        place = rf"(^|[\s;&|(]){escape(launcher)}(?=\s)"
        inside = sub(place, rf"\1mpiric VERB -- {launcher}", script, count=1)
        line = sh_command(inside if word is script else word for word in arguments)
    elif at and not runs_script:
        launcher = arguments[at]
        line = sh_command((*arguments[:at], "mpiric", "VERB", "--", *arguments[at:]))
    else:
        return
    examine = f"; to examine the ranks, write {name} behind the launcher" if name in _OF_RANKS else ""
    raise MpiricError(
        f"'{name}' is in front of the launcher '{launcher}', where mpiric cannot change the launch line",
        hint=f"write mpiric directly in front of the launcher: {line}{examine}",
    )


def _launcher_in(script: str, is_launcher: Callable[[str], bool]) -> str:
    """Return the launcher that a command line in one argument calls, "" if none."""
    called = (word for word in script.replace(";", " ").replace("&", " ").split() if is_launcher(word))
    return next((word for word in called if search(rf"(^|[\s;&|(]){escape(word)}\s", script)), "")
