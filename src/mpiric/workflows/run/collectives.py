"""The options of `mpiric run` about collectives, and the site's policy where none is given."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from mpiric.host.host import Host
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, NoRuntimeError, NotFoundError
from mpiric.model.policy import COLLECTIVES
from mpiric.model.situation import Situation, Tuner
from mpiric.workflows.policies.files import check_mpi, check_writable, read_policy, site_policy
from mpiric.workflows.policies.tuner import with_policy

_RULES = "OMPI_MCA_coll_tuned_use_dynamic_rules"


@dataclass(frozen=True)
class RunRequest:
    """The options of `mpiric run`; ``argv`` is the user's launch line."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    recipe: Path | None = None  # this one and no other
    store: Path | None = None
    use_recipe: bool = True
    allow_rounding: bool = False  # also of another user's recipe
    without_recipe: str = "running the command as it is"  # sentence for a run without an applicable recipe
    values: Mapping[str, str] = field(default_factory=dict)  # knobs set by hand, over those of the recipe
    policy: Path | None = None  # of collectives, in either form
    rank_order: Path | None = None  # the slot of each rank, in the form of spec/formats/order.md
    policy_out: Path | None = None  # where the ranks write what they learned
    learn_at_most: str = ""  # share of the time in collectives, "" for the runtime's own bound
    learn_only: tuple[str, ...] = ()  # collectives; empty: all
    learn_ranks: int = 0  # communicators of fewer are left alone; 0: the runtime's own least
    reproducible: bool = False
    starts: bool = False  # it is started next: the nodes of the job may be asked what they have
    packs: bool = False  # it is for other machines: nothing is looked for here
    reprove: bool = True  # what a policy chooses meets the library's own again now and then

    @property
    def tunes_collectives(self) -> bool:
        """Whether any of the options about collectives was given."""
        learns = self.policy_out or self.learn_at_most or self.learn_only or self.learn_ranks
        return bool(self.policy or learns or self.reproducible)

    @property
    def asks_for_something(self) -> bool:
        """Whether running the command as it is would not be what was asked for."""
        return bool(self.recipe or self.values or self.rank_order or self.tunes_collectives)


def with_collectives(
    request: RunRequest, configuration: Configuration, situation: Situation, host: Host
) -> tuple[Situation, dict[str, str], list[str]]:
    """What the options about collectives ask for, or the site's policy where nobody asks for anything."""
    tuner = situation.tuner
    if not request.tunes_collectives:
        site = site_policy(situation.mpi, request.environment)
        taken = "collectives" in configuration.as_dict() or "collectives" in request.values
        if site is None or taken or not request.use_recipe:
            return situation, {}, []
        if not tuner.library:
            return situation, {}, [f"without this site's policy: {tuner.why_not}"] if tuner.why_not else []
        return _with_site_policy(site, request, situation, host)
    if tuner.why_not:
        raise NoRuntimeError(
            f"collectives cannot be tuned: {tuner.why_not}", hint="leave --policy and its like out"
        )
    if not tuner.library:
        raise NotFoundError(
            f"the runtime of this installation does not tune collectives of {situation.mpi.label}",
            hint="leave --policy and its like out",
        )
    if unknown := sorted(set(request.learn_only) - COLLECTIVES):
        raise MpiricError(f"{', '.join(unknown)}: no such collective", hint="for example allreduce,bcast")
    if request.policy_out:
        check_writable(request.policy_out.absolute())
    if request.policy:
        tuner = _obeying(request.policy, request, situation, host)
    value = "policy" if request.policy and not request.policy_out else "online"
    settings = {
        "MPIRIC_POLICY_OUT": str(request.policy_out.absolute()) if request.policy_out else "",
        "MPIRIC_LEARN_AT_MOST": request.learn_at_most,
        "MPIRIC_LEARN_ONLY": ",".join(request.learn_only),
        "MPIRIC_LEARN_RANKS": str(request.learn_ranks or ""),
        "MPIRIC_REPRODUCIBLE": "1" if request.reproducible else "",
        "MPIRIC_REPROVE": "" if request.reprove else "0",
    }
    tuner = replace(tuner, settings=tuple((name, text) for name, text in settings.items() if text))
    return replace(situation, tuner=tuner), {"collectives": value}, _said_before_init(request, situation)


def _said_before_init(request: RunRequest, situation: Situation) -> list[str]:
    """The one setting of the library that goes along and changes it where nothing is chosen."""
    if not situation.mpi.label.startswith("openmpi-4.") or request.environment.get(_RULES) == "1":
        return []
    return [f"with {_RULES}=1: without it Open MPI 4 lets nobody choose among its algorithms"]


def _with_site_policy(
    site: Path, request: RunRequest, situation: Situation, host: Host
) -> tuple[Situation, dict[str, str], list[str]]:
    """Apply the site's policy. It was not requested: where it cannot be used, the command runs without it."""
    try:
        tuner = _obeying(site, request, situation, host)
    except MpiricError as error:
        return situation, {}, [f"without this site's policy: {error.message}"]
    if not request.reprove:
        tuner = replace(tuner, settings=(("MPIRIC_REPROVE", "0"),))
    words = [f"collectives by this site's policy {site}", *_said_before_init(request, situation)]
    return replace(situation, tuner=tuner), {"collectives": "policy"}, words


def _obeying(path: Path, request: RunRequest, situation: Situation, host: Host) -> Tuner:
    policy = read_policy(path)
    check_mpi(policy, situation.mpi, str(path))
    given = situation.tuner, policy, situation, request.store, host
    return with_policy(*given, reproducible=request.reproducible)
