"""Collective policies: as files, in the form of a library, and as settings of the tuner in the ranks."""

import os
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from mpiric import mpis
from mpiric.algorithms.library import are_chosen_at_start
from mpiric.host.facts.elf import read_embedded_texts
from mpiric.host.facts.time_slices import tick_s
from mpiric.host.files import is_directory, is_file, read_bounded
from mpiric.host.host import Host
from mpiric.host.installation.native import native_part
from mpiric.host.owned_files import read_own, write_text
from mpiric.host.user_directories import named_path
from mpiric.model.errors import MismatchError, MpiricError, NoRoomError, NotFoundError, writing
from mpiric.model.job import Job
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.policy import EVERY, REDUCING, LearnedPolicy, Named, Policy, Span
from mpiric.model.quoting import sh_word, variable_name
from mpiric.model.situation import Situation, Tuner
from mpiric.model.translation import family_above
from mpiric.mpis import Exported
from mpiric.tuning.policy_files import (
    parse_flat,
    parse_learned,
    read_learned,
    render_flat,
    undisturbed,
    write_learned,
)
from mpiric.tuning.policy_merge import condense, first_decided, library_choices
from mpiric.tuning.store import default_store, make_directory
from mpiric.workflows.launch.loadable import why_not_loadable

SITE = "/etc/mpiric/policies"  # written by `mpiric sweep --site` for all users
_MOST_BYTES = 64 << 20
_HEAD_BYTES = 4096
_MAKER = "`mpiric run --policy-out FILE` and `mpiric sweep` write policies"


def read_policy(path: Path) -> Policy:
    """Return a policy of either format: flat text, or JSON of a learned one."""
    data = read_bounded(path, "policy", _MOST_BYTES, _MAKER)
    if data.lstrip()[:1] == b"{":
        return condense(parse_learned(data, str(path)))
    return parse_flat(data, str(path))


def is_learned_policy(path: Path) -> bool:
    """Return whether a file looks like the JSON of a learned policy (it may be damaged)."""
    return b'"mpiric_policy"' in _head(path)


def is_flat_policy(path: Path) -> bool:
    """Return whether a file looks like a policy for the runtime."""
    return _head(path).startswith(b"mpiric-policy ")


def _head(path: Path) -> bytes:
    try:
        if not is_file(path):  # a FIFO would block
            return b""
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError:
        return b""


def check_mpi(policy: Policy, mpi: MpiLibrary, where: str) -> None:
    """Raise MismatchError if the policy's names have another meaning in this library."""
    major = policy.version.partition(".")[0]
    if policy.implementation != mpi.implementation or major != mpi.version.partition(".")[0]:
        raise MismatchError(
            f"the policy {where} is for {policy.implementation} {policy.version}, and the program runs under "
            f"{mpi.label}",
            hint="make one for it: mpiric run --policy-out FILE -- CMD, or mpiric sweep",
        )


def check_writable(path: Path) -> None:
    """Raise NoRoomError before a long run instead of at its end, if the ranks could not write."""
    directory = path.parent
    if not is_directory(directory):
        raise NoRoomError(
            f"cannot write {path}: the directory {directory} does not exist", hint="name another file"
        )
    if is_directory(path):
        raise NoRoomError(f"cannot write {path}: it is a directory", hint="name a file in it")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise NoRoomError(f"cannot write {path}: no permission in {directory}", hint="name another file")


def learned_file(directory: Path) -> Path:
    """Return the file to which the ranks of a tune write what they learned."""
    return directory / "learned.policy.json"


def benchmark_file(directory: Path) -> Path:
    """Return the file for benchmark results on calls that the ranks had not decided."""
    return directory / "benchmark.policy.json"


def all_learned(directory: Path) -> LearnedPolicy | None:
    """Return the policy of a tune, from times of the program before benchmarks; None without any times.

    Times that are artefacts of the scheduler are ignored.
    """
    paths = (learned_file(directory), benchmark_file(directory))
    policies = [undisturbed(read_learned(path), tick_s()) for path in paths if is_file(path)]
    return first_decided(policies) if policies else None


def origins(directory: Path) -> list[str]:
    """Return sentences on the origin of decisions, if not all come from the program itself."""
    files = (learned_file(directory), benchmark_file(directory))
    if not all(is_file(path) for path in files):
        return []
    by_program, more = (sum(key.decided for key in read_learned(path).keys) for path in files)
    return [
        f"of its kinds of collective calls {by_program} were decided in the program, "
        f"{more} by a benchmark of them"
    ]


def lay_out(policy: Policy, store: Path | None = None) -> str:
    """Write the flat text below the store, under a name that depends on its content; return its path."""
    text = render_flat(policy)
    path = (store or default_store()) / "policies" / f"{sha256(text.encode()).hexdigest()[:16]}.policy"
    if not is_file(path):
        with writing(path, "name another store"):
            make_directory(path.parent)
        write_text(path, text)
    return str(path.absolute())


def site_directory(environment: Mapping[str, str]) -> Path:
    """Return the directory of the administrator's policies."""
    return named_path(environment, "MPIRIC_POLICIES") or Path(SITE)


def site_policy(mpi: MpiLibrary, environment: Mapping[str, str]) -> Path | None:
    """Return the administrator's policy for this library, if there is one."""
    directory = site_directory(environment)
    path = directory / site_name(mpi.implementation, mpi.version)
    return path if os.access(path, os.R_OK) else None


def site_name(implementation: str, version: str) -> str:
    """Return the file name of a library's policy: ``openmpi-5.policy.json``."""
    return f"{implementation}-{version.partition('.')[0]}.policy.json"


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
            f"{path} exists, and mpiric did not write it; it would be overwritten",
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


SWITCH = "MPIRIC_COLLECTIVES"
_RUNTIME = "libmpiric.so"


def tuner_for(mpi: MpiLibrary) -> Tuner:
    """Return the runtime for this MPI library if it supports tuning; empty for an unknown library.

    If the runtime cannot be used, the result contains the reason.
    """
    family = family_above(mpi)
    if family is None:
        return Tuner()
    try:
        library = native_part(_RUNTIME, family)
    except NotFoundError as error:
        return Tuner(why_not=error.message)
    return Tuner(library) if read_embedded_texts(library, SWITCH.encode()) else Tuner()


def loadable(tuner: Tuner, job: Job, host: Host) -> Tuner:
    """Return the tuner; without its library, and with the reason, if the job's programs cannot load it."""
    reason = why_not_loadable(job, tuner.library, host) if tuner.library else ""
    return Tuner(why_not=reason) if reason else tuner


def obeying(tuner: Tuner, learned: LearnedPolicy, store: Path, host: Host) -> Tuner:
    """Return the tuner with the learned policy, and with the part of it that the library can apply itself."""
    policy = condense(learned)
    if policy.lines:
        covered = frozenset(line.collective for line in policy.lines)
        tuner = replace(tuner, policy=lay_out(policy, store), covered=covered)
    return exporting(tuner, of_library(learned), store, host)


def exporting(tuner: Tuner, policy: Policy, store: Path | None, host: Host) -> Tuner:
    """Return the tuner with the library's format of a policy; without it if that selects nothing."""
    if not chooses_something(policy):
        return tuner
    path = lay_out(policy, store)
    try:
        settings, _ = in_library_form(policy, Path(path).with_suffix(""), host)
    except MismatchError:
        return tuner
    if not settings:
        return tuner
    return replace(tuner, exported=tuple(settings.items()), exported_policy=path)


def with_policy(
    tuner: Tuner,
    policy: Policy,
    situation: Situation,
    store: Path | None,
    host: Host,
    *,
    reproducible: bool = False,
) -> Tuner:
    """Return the tuner with a policy, also in the library's format if algorithms are selected at the start.

    The runtime does not change reductions that must be ``reproducible``, and neither does that format.
    """
    tuner = replace(tuner, policy=lay_out(policy, store))
    ranks = situation.job.ranks
    if ranks is None or not are_chosen_at_start(policy.implementation):
        return tuner
    reducing = REDUCING if reproducible else ()
    of_job = tuple(
        replace(line, ranks=Span(ranks, ranks))
        for line in policy.lines
        if ranks in line.ranks and line.collective not in reducing
    )
    return exporting(tuner, replace(policy, lines=of_job), store, host)


def strictly(policy: str) -> dict[str, str]:
    """Return the settings that make ranks apply a flat policy unconditionally, to measure it."""
    return {SWITCH: "policy", "MPIRIC_POLICY": policy, "MPIRIC_REPROVE": "0"}
