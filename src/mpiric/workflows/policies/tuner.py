"""The tuner as it is given to the ranks: with what was learned, or with a user's policy."""

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
from mpiric.tuning.policy import condense
from mpiric.workflows.launch.loadable import why_not_loadable
from mpiric.workflows.policies.export import chooses_something, in_library_form, of_library
from mpiric.workflows.policies.files import lay_out

SWITCH = "MPIRIC_COLLECTIVES"
_RUNTIME = "libmpiric.so"


def tuner_for(mpi: MpiLibrary) -> Tuner:
    """The runtime for this MPI, if one is installed that knows the switch; none while the MPI is unknown.

    Where it is not as it has to be, the reason.
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
    """The tuner; without its library, and with the reason, where the programs of the job cannot load that."""
    reason = why_not_loadable(job, tuner.library, host) if tuner.library else ""
    return Tuner(why_not=reason) if reason else tuner


def obeying(tuner: Tuner, learned: LearnedPolicy, store: Path, host: Host) -> Tuner:
    """The tuner with what was learned, and with what of it the library can do by itself."""
    policy = condense(learned)
    if policy.lines:
        covered = frozenset(line.collective for line in policy.lines)
        tuner = replace(tuner, policy=lay_out(policy, store), covered=covered)
    return exporting(tuner, of_library(learned), store, host)


def exporting(tuner: Tuner, policy: Policy, store: Path | None, host: Host) -> Tuner:
    """The tuner with the library's own form of a policy; without, where that says nothing."""
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
    """The tuner with a policy; with the library's own form of it where algorithms are chosen at the start.

    The runtime leaves reductions that are to be ``reproducible`` to the library, so that form does as well.
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
    """What lets the ranks obey the flat policy at this path whether it is faster or not: to measure it."""
    return {SWITCH: "policy", "MPIRIC_POLICY": policy, "MPIRIC_REPROVE": "0"}


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
