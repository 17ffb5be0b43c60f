"""Files that a program writes outside of the directory that each of its runs has for itself."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePath

from mpiric.host.host import Host
from mpiric.model.behaviour import Behaviour
from mpiric.tuning.equivalence.output_files import printable_name

_OF_THE_SYSTEM = ("/dev", "/proc", "/sys")
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108
_NAMED = 10  # limit of named files; further files are counted


def written_outside(
    behaviour: Behaviour | None, environment: Mapping[str, str], host: Host, *, ends_at_mark: bool
) -> list[str]:
    """Sentences on them, as each run writes them anew: nothing keeps the user's own apart.

    Devices are left out, and temporary files that the program has removed again.
    """
    temporary = (*_TEMPORARY, *filter(None, [environment.get("TMPDIR")]))
    appended: set[str] = set()
    written: set[str] = set()
    for file in behaviour.files if behaviour else ():
        if not file.writes or not leads_outside(file.path):
            continue
        is_kept = host.is_file(file.path) if _is_below(file.path, temporary) else True
        if is_kept and (_is_below(file.path, temporary) or not _is_below(file.path, _OF_THE_SYSTEM)):
            (appended if "append" in file.opened else written).add(file.path)
    where = "outside of the directory that it runs in"
    left = "a run leaves it that is ended early" if ends_at_mark else "the last run left it"
    sentences = []
    if appended:
        sentences.append(
            f"it appends to {_names(appended)} {where}: every run has added to that, "
            "and nothing of it was compared"
        )
    if overwritten := written - appended:
        sentences.append(
            f"it writes {_names(overwritten)} {where}: every run writes there, nothing of that was compared, "
            f"and it is left as {left}"
        )
    return sentences


def _names(paths: Collection[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(printable_name(path) for path in sorted(paths)[:_NAMED]) + more


def leads_outside(path: str) -> bool:
    """Whether a path of a record leads out of the directory that the program runs in."""
    return PurePath(path).is_absolute() or PurePath(path).parts[:1] == ("..",)


def _is_below(path: str, directories: Iterable[str]) -> bool:
    return any(PurePath(path).is_relative_to(directory) for directory in directories)
