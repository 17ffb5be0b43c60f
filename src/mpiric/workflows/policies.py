"""Collective policies on their way to the ranks: found, checked against the MPI, laid where rank 0 reads."""

import os
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from shlex import quote

from mpiric import mpis
from mpiric.algorithms.library import are_chosen_at_start
from mpiric.host.facts.elf import read_embedded_texts
from mpiric.host.host import Host
from mpiric.host.installation.native import native_part
from mpiric.model.errors import MismatchError, MpiricError, NoRoomError, NotFoundError
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.policy import REDUCING, LearnedPolicy, Named, Policy, Span
from mpiric.model.situation import Situation, Tuner
from mpiric.tuning.policy import (
    condense,
    first_decided,
    parse_flat,
    parse_learned,
    read_learned,
    render_flat,
    without_own,
    write_learned,
)
from mpiric.tuning.policy.files import read_bounded, write_whole
from mpiric.tuning.store.store import default_store

SWITCH = "MPIRIC_COLLECTIVES"
_RUNTIME = "libmpiric.so"
SITE = "/etc/mpiric/policies"  # what `mpiric sweep --site` writes for everybody's runs
_MOST_BYTES = 64 << 20
_HEAD_BYTES = 4096


def tuner_for(mpi: MpiLibrary) -> Tuner:
    """The runtime for this MPI, if one is installed that knows the switch; none while the MPI is unknown."""
    if not mpi.abi_families:
        return Tuner()
    try:
        library = native_part(_RUNTIME, mpi.abi_families[0])
    except NotFoundError:
        return Tuner()
    return Tuner(library) if read_embedded_texts(library, SWITCH.encode()) else Tuner()


def read_policy(path: Path) -> Policy:
    """A policy of either form: flat text, or the JSON of a learned one."""
    data = read_bounded(path, "a policy", _MOST_BYTES)
    if data.lstrip()[:1] == b"{":
        return condense(parse_learned(data, str(path)))
    return parse_flat(data, str(path))


def is_learned_policy(path: Path) -> bool:
    """Whether a file looks like the JSON of a learned policy (it may still be a damaged one)."""
    return b'"mpiric_policy"' in _head(path)


def is_flat_policy(path: Path) -> bool:
    """Whether a file looks like what the runtime reads."""
    return _head(path).startswith(b"mpiric-policy ")


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES) if path.is_file() else b""
    except OSError:
        return b""


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
    lines = "".join(f"export {variable}={quote(value)}\n" for variable, value in settings.items())
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


def chooses_something(policy: Policy) -> bool:
    """Whether anything in it is not what the library does by itself."""
    return any(Named.parse(line.candidate).algorithm for line in policy.lines)


def obeying(tuner: Tuner, learned: LearnedPolicy, store: Path, host: Host) -> Tuner:
    """The tuner with what was learned, and with what of it the library can do by itself."""
    policy = condense(learned)
    if policy.lines:
        covered = frozenset(line.collective for line in policy.lines)
        tuner = replace(tuner, policy=lay_out(policy, store), covered=covered)
    return exporting(tuner, condense(without_own(learned)), store, host)


def exporting(tuner: Tuner, policy: Policy, store: Path | None, host: Host) -> Tuner:
    """The tuner with the library's own form of a policy; without, where that says nothing."""
    if not chooses_something(policy):
        return tuner
    path = lay_out(policy, store)
    try:
        settings, _ = in_library_form(policy, Path(path).with_suffix(""), host)
    except MismatchError:
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
    """The tuner with a policy; with the library's own form of it where algorithms are chosen at the start.

    The runtime leaves reductions that are to be ``reproducible`` to the library, so that form does as well.
    """
    tuner = replace(tuner, policy=lay_out(policy, store))
    ranks = situation.job.ranks
    if ranks is None or not are_chosen_at_start(policy.implementation):
        return tuner
    left = REDUCING if reproducible else ()
    of_job = tuple(
        replace(line, ranks=Span(ranks, ranks))
        for line in policy.lines
        if ranks in line.ranks and line.collective not in left
    )
    return exporting(tuner, replace(policy, lines=of_job), store, host)


def check_mpi(policy: Policy, mpi: MpiLibrary, where: str) -> None:
    """Raises MismatchError when the policy's names would mean something else under this library."""
    major = policy.version.partition(".")[0]
    if policy.implementation != mpi.implementation or major != mpi.version.partition(".")[0]:
        raise MismatchError(
            f"the policy {where} is for {policy.implementation} {policy.version}, and the program runs under "
            f"{mpi.label}",
            hint="make one for it: mpiric run --policy-out FILE -- CMD, or mpiric sweep",
        )


def check_writable(path: Path) -> None:
    """Raises NoRoomError before a run of hours rather than at its end, where the ranks write."""
    place = path.parent
    if not place.is_dir():
        raise NoRoomError(f"cannot write {path}: there is no directory {place}", hint="name another file")
    if path.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        raise NoRoomError(f"cannot write {path}", hint="name another file")


def strictly(policy: str) -> dict[str, str]:
    """What lets the ranks obey the flat policy at this path whether it is faster or not: to measure it."""
    return {SWITCH: "policy", "MPIRIC_POLICY": policy, "MPIRIC_REPROVE": "0"}


def learned_file(directory: Path) -> Path:
    """Where the ranks of a tune leave what they learned."""
    return directory / "learned.policy.json"


def benchmark_file(directory: Path) -> Path:
    """Where a tune leaves what a benchmark found of calls about which the ranks had decided nothing."""
    return directory / "benchmark.policy.json"


def all_learned(directory: Path) -> LearnedPolicy | None:
    """What a tune knows of the program's collectives, the program's own word first; None for nothing."""
    found = (learned_file(directory), benchmark_file(directory))
    policies = [read_learned(path) for path in found if path.is_file()]
    return first_decided(policies) if policies else None


def origins(directory: Path) -> list[str]:
    """A sentence on who decided what, where it was not the program alone."""
    files = (learned_file(directory), benchmark_file(directory))
    if not all(path.is_file() for path in files):
        return []
    own, more = (sum(key.decided for key in read_learned(path).keys) for path in files)
    return [
        f"of its kinds of collective calls {own} were decided in the program, {more} by a benchmark of them"
    ]


def lay_out(policy: Policy, store: Path | None = None) -> str:
    """Path of the flat text, named by what is in it, below the store: home directories reach every node."""
    text = render_flat(policy)
    place = (store or default_store()) / "policies" / f"{sha256(text.encode()).hexdigest()[:16]}.policy"
    if not place.is_file():
        write_whole(place, text)
    return str(place.absolute())


def site_policy(mpi: MpiLibrary, environment: Mapping[str, str]) -> Path | None:
    """The policy that the administrator put in place for this library, if there is one."""
    directory = Path(environment.get("MPIRIC_POLICIES", SITE))
    path = directory / site_name(mpi.implementation, mpi.version)
    return path if os.access(path, os.R_OK) else None


def site_name(implementation: str, version: str) -> str:
    """``openmpi-5.policy.json``."""
    return f"{implementation}-{version.partition('.')[0]}.policy.json"


def parse_share(text: str) -> str:
    """``1%`` or ``0.01`` → ``0.01``. Raises MpiricError for what is no part of a whole."""
    percent = text.endswith("%")
    try:
        share = float(text.removesuffix("%")) / (100 if percent else 1)
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        raise MpiricError(f"{text!r} is no share of the time in collectives", hint="for example 1%")
    return f"{share:.6g}"
