"""Policies in the library's own format."""

from collections.abc import Mapping
from pathlib import Path

from mpiric import mpis
from mpiric.host.facts.elf import read_embedded_texts
from mpiric.host.host import Host
from mpiric.host.owned_files import read_own, write_text
from mpiric.model.errors import MismatchError, MpiricError
from mpiric.model.policy import EVERY, LearnedPolicy, Named, Policy, Span
from mpiric.model.quoting import sh_word, variable_name
from mpiric.mpis import Exported
from mpiric.tuning.policy.flat import render_flat
from mpiric.tuning.policy.learned import write_learned
from mpiric.tuning.policy.merge import condense, library_choices
from mpiric.workflows.policies.files import site_name

SHELL = "collectives.sh"
FLAT = "mpiric.policy"  # file in each export, whose beginning identifies exports of mpiric
_BEGINNING = b"mpiric-policy "


def check_free(directory: Path) -> None:
    """Raise MpiricError for files with names of an export that no earlier export of this user wrote."""
    try:
        is_export = read_own(directory / FLAT, len(_BEGINNING)) == _BEGINNING
    except OSError:
        is_export = False
    patterns = (FLAT, SHELL, *mpis.export_files())
    for path in [] if is_export else [path for pattern in patterns for path in directory.glob(pattern)]:
        raise MpiricError(
            f"{path} has the name of a file that mpiric exports, and is not part of an earlier export",
            hint="name another directory, or move that file",
        )


def export_policy(
    learned: LearnedPolicy, directory: Path, host: Host, of_library: Policy | None
) -> list[str]:
    """Write merged JSON, flat text and the library's format to ``directory``; return sentences on their use.

    ``of_library`` contains the choices for the library's format, which is not written without it.
    """
    name = site_name(learned.implementation, learned.version)
    write_learned(directory / name, learned)
    write_text(directory / FLAT, render_flat(condense(learned)))
    sentences = [f"wrote {directory / name} and {directory / FLAT}"]
    for pattern in (SHELL, *mpis.export_files()):  # remove an earlier export
        for path in directory.glob(pattern):
            path.unlink()
    if of_library is None:
        return sentences
    if not chooses_something(of_library):
        return [*sentences, "without mpiric: nothing to set, the library's own choices stay"]
    try:
        settings, left_out = in_library_form(of_library, directory, host)
    except MismatchError as error:
        return [*sentences, f"no export: {error.message}"]
    lines = "".join(
        f"export {variable_name(variable)}={sh_word(value)}\n" for variable, value in settings.items()
    )
    if lines:
        write_text(directory / SHELL, lines)
        sentences.append(f"without mpiric: source {directory / SHELL}")
    return [*sentences, *(f"left out: {sentence}" for sentence in left_out)]


def of_library(learned: LearnedPolicy) -> Policy:
    """Return the part of a policy that a library can express, with its own best algorithms only."""
    return condense(library_choices(learned))


def chooses_something(policy: Policy) -> bool:
    """Return whether any line of the policy differs from the library's default."""
    return any(Named.parse(line.candidate).algorithm for line in policy.lines)


def in_library_form(policy: Policy, directory: Path, host: Host) -> tuple[dict[str, str], tuple[str, ...]]:
    """Write the library's policy files; return the variables to set, and the parts that cannot be expressed.

    Raises MismatchError for a library without such files.
    """
    exported = _exported(policy, host)
    for file, text in exported.files.items():
        write_text(directory / file, text)
    return _settings(exported, exported.variables, directory), exported.left_out


def by_ranks(policy: Policy, directory: Path, host: Host) -> dict[Span, dict[str, str]]:
    """Write the same files; return the variables to set for each range of communicator sizes.

    Raises MismatchError for a library without such files.
    """
    exported = _exported(policy, host)
    for file, text in exported.files.items():
        write_text(directory / file, text)
    groups = exported.by_ranks or ({EVERY: exported.variables} if exported.files else {})
    return {ranks: _settings(exported, variables, directory) for ranks, variables in groups.items()}


def _exported(policy: Policy, host: Host) -> Exported:
    return mpis.export(policy, _decision_trees(policy, host))


def _settings(exported: Exported, variables: Mapping[str, str], directory: Path) -> dict[str, str]:
    by_file = {variable: str((directory / file).absolute()) for variable, file in exported.by_file.items()}
    return {**variables, **by_file}


def _decision_trees(policy: Policy, host: Host) -> tuple[str, ...]:
    """Return the decision trees built into the library of this version, if it contains them as text."""
    beginning = mpis.embedded_defaults(policy.implementation)
    release = (policy.implementation, policy.version)
    if not beginning:
        return ()
    libraries = [mpi for mpi in mpis.find_mpis(host) if (mpi.implementation, mpi.version) == release]
    return read_embedded_texts(libraries[0].library, beginning) if libraries else ()
