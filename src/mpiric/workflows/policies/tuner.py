"""Settings of the runtime's tuner for the ranks: learned data, or a user's policy."""

from dataclasses import replace
from pathlib import Path

from mpiric.algorithms.library import are_chosen_at_start
from mpiric.host.facts.elf import read_embedded_texts
from mpiric.host.host import Host
from mpiric.host.installation.native import native_part
from mpiric.model.errors import MismatchError, MpiricError, NotFoundError
from mpiric.model.job import Job
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.policy import REDUCING, LearnedPolicy, Policy, Span
from mpiric.model.situation import Situation, Tuner
from mpiric.model.translation import family_above
from mpiric.tuning.policy.merge import condense
from mpiric.workflows.launch.loadable import why_not_loadable
from mpiric.workflows.policies.export import chooses_something, in_library_form, of_library
from mpiric.workflows.policies.files import lay_out

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


def parse_share(text: str) -> str:
    """Parse ``1%`` or ``0.01`` → ``0.01``. Raises MpiricError unless it is between 0 and 1."""
    percent = text.endswith("%")
    try:
        share = float(text.removesuffix("%")) / (100 if percent else 1)
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        raise MpiricError(f"{text!r} is not a share such as 1%", hint="for example 1%")
    return f"{share:.6g}"
