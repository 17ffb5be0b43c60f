"""Policies in the library's own form."""

from pathlib import Path

from mpiric import mpis
from mpiric.host.facts.elf import read_embedded_texts
from mpiric.host.host import Host
from mpiric.model.errors import MismatchError
from mpiric.model.policy import LearnedPolicy, Policy
from mpiric.model.quoting import sh_word, variable_name
from mpiric.tuning.files import write_whole
from mpiric.tuning.policy import (
    condense,
    render_flat,
    without_own,
    write_learned,
)
from mpiric.workflows.policies.files import site_name


def export_policy(learned: LearnedPolicy, directory: Path, host: Host) -> list[str]:
    """Merged JSON, flat text and the library's own form into ``directory``; how to use them, in sentences.

    Where mpiric's own algorithms win, the library's form takes the best of the library's.
    """
    name = site_name(learned.implementation, learned.version)
    write_learned(directory / name, learned)
    write_whole(directory / "mpiric.policy", render_flat(condense(learned)))
    words = [f"wrote {directory / name} and {directory / 'mpiric.policy'}"]
    try:
        settings, left_out = in_library_form(condense(without_own(learned)), directory, host)
    except MismatchError as error:
        return [*words, f"no export: {error.message}"]
    lines = "".join(
        f"export {variable_name(variable)}={sh_word(value)}\n" for variable, value in settings.items()
    )
    if lines:
        write_whole(directory / "collectives.sh", lines)
        words.append(f"without mpiric: source {directory / 'collectives.sh'}")
    return [*words, *(f"left out: {sentence}" for sentence in left_out)]


def in_library_form(policy: Policy, directory: Path, host: Host) -> tuple[dict[str, str], tuple[str, ...]]:
    """Write the files with which the library obeys a policy; the variables to set, and what it cannot say.

    Raises MismatchError for a library that reads no such thing.
    """
    exported = mpis.export(policy, _decision_trees(policy, host))
    for file, text in exported.files.items():
        write_whole(directory / file, text)
    by_file = {variable: str((directory / file).absolute()) for variable, file in exported.by_file.items()}
    return {**exported.variables, **by_file}, exported.left_out


def _decision_trees(policy: Policy, host: Host) -> tuple[str, ...]:
    """What the library of this version has built in, if it keeps such a thing as text."""
    beginning = mpis.embedded_defaults(policy.implementation)
    wanted = (policy.implementation, policy.version)
    if not beginning:
        return ()
    found = [mpi for mpi in mpis.find_mpis(host) if (mpi.implementation, mpi.version) == wanted]
    return read_embedded_texts(found[0].library, beginning) if found else ()
