"""Files that a program writes outside of the directory that each of its runs has for itself."""

from collections.abc import Iterable, Mapping
from pathlib import PurePath

from mpiric.model.behaviour import Behaviour
from mpiric.tuning.equivalence.output_files import printable_name

_OF_THE_SYSTEM = ("/dev", "/proc", "/sys", "/tmp", "/var/tmp")  # noqa: S108


def written_outside(
    behaviour: Behaviour | None, environment: Mapping[str, str], *, ends_at_mark: bool
) -> list[str]:
    """A sentence on them, as each run writes them anew: nothing keeps the user's own apart.

    Devices and temporary files are left out.
    """
    aside = (*_OF_THE_SYSTEM, *filter(None, [environment.get("TMPDIR")]))
    written = {file.path for file in (behaviour.files if behaviour else ()) if file.writes}
    paths = sorted(path for path in written if leads_outside(path) and not _is_below(path, aside))
    if not paths:
        return []
    more = f" and {len(paths) - 1} more" if paths[1:] else ""
    left = "a run leaves it that is ended early" if ends_at_mark else "the last run left it"
    return [
        f"it writes {printable_name(paths[0])}{more} outside of the directory that it runs in: every run "
        f"writes there, nothing of that was compared, and it is left as {left}"
    ]


def leads_outside(path: str) -> bool:
    """Whether a path of a record leads out of the directory that the program runs in."""
    return PurePath(path).is_absolute() or PurePath(path).parts[:1] == ("..",)


def _is_below(path: str, directories: Iterable[str]) -> bool:
    return any(PurePath(path).is_relative_to(directory) for directory in directories)
