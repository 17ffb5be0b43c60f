"""Whether a knob can matter to what the program does, and which of its values do the same."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import inf

from mpiric.knobs._reading import in_force
from mpiric.model.behaviour import Behaviour
from mpiric.model.conditions import Condition, parse_alternatives, quote
from mpiric.model.knob import Knob, Promise, parse_bytes
from mpiric.model.policy import BLOCKING
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

_USUAL_START_S = 0.3  # assumed time for start and end of an MPI program without a record
_HIGH = 0.3  # share of the time at which a knob helps as often as it ever does

# What a number says where it keeps a knob from mattering.
_FACTS: Mapping[str, str] = {
    "nodes": "the job runs on one node",
    "run_mpi_bound": "{run_mpi_bound:%} of the run goes into MPI between MPI_Init and MPI_Finalize",
    "gpu_ranks": "{gpu_ranks:n} ranks load the driver of a GPU",
    "node_ranks": "each rank has a node of its own",
    "ucx_carries": "no message goes through UCX",
    "other_node_share": "no message leaves its node",
    "node_message_bound": "no message is sent on a node",
    "largest_node_message_bytes": "no message on a node is larger than {largest_node_message_bytes:b}",
    "most_node_messages": "a rank sends {most_node_messages:n} messages on its node at most",
    "collective_calls": "no collective operation is called",
    "io_bytes_written": "{io_bytes_written:b} are written to files",
    "io_bytes_read": "no file is read",
    "small_io_share": "{small_io_share:%} of the accesses to files are small",
    "printed_bytes": "{printed_bytes:b} are printed",
    "collective_file_calls": "no file is read or written through MPI",
    "independent_file_calls": "no file is read or written through MPI",
    "peak_bytes": "a rank holds {peak_bytes:b} at most",
    "minor_faults_per_s": "and takes {minor_faults_per_s:n} page faults a second",
    **{f"{name}_calls": "the collective is not called" for name in BLOCKING},
}
# What takes the time that a bound limits.
BOUNDS: Mapping[str, str] = {
    "mpi_bound": "MPI",
    "outside_bound": "start and end",
    "node_message_bound": "messages on a node",
    "network_bound": "messages between nodes",
    "ucx_bound": "messages through UCX",
    "collective_bound": "collective operations",
    "fault_bound": "page faults",
    "allocator_bound": "the allocator",
    "own_bound": "the program's own code",
    "io_bound": "files",
    "mpi_io_bound": "MPI-IO",
    "unsafe_bound": "making safe what was written",
    **{f"{name}_bound": f"MPI_{name.capitalize()}" for name in BLOCKING},
}


def why_not(knob: Knob, behaviour: Behaviour, least_share: float) -> str:
    """Why a knob cannot matter to what was recorded, "" where it can.

    What can touch no more than ``least_share`` of the time cannot.
    """
    for text in knob.matters_when:
        alternatives = parse_alternatives(text)
        if not any(condition.holds(behaviour.numbers) for condition in alternatives):
            return _said(alternatives, behaviour)
    bound = behaviour.bound(knob.ceiling)
    if not knob.ceiling or bound > least_share:
        return ""
    parts = [BOUNDS[name] for name in knob.ceiling if behaviour.numbers[name] > 0] or [
        BOUNDS[knob.ceiling[0]]
    ]
    if bound == 0:
        return f"no time goes into {parts[0]}"
    return quote("{bound:%} of a rank's time goes into ", {"bound": bound}) + " and ".join(parts)


def promise_of(knob: Knob, situation: Situation) -> Promise:
    """Return the promise of a knob, at least its success rate for programs with similar time shares."""
    promise, observation = knob.promise(situation), situation.observation
    for name, often in knob.helped_where:
        if name == "outside_bound" and situation.mpi.capabilities.starts_light:
            continue
        if observation.behaviour is not None:
            share = observation.behaviour.numbers.get(name, 0.0)
            because = quote("{share:%} of the time goes into ", {"share": share}) + BOUNDS[name]
        elif name == "outside_bound" and observation.wall_s > 0:
            share = min(1.0, _USUAL_START_S / observation.wall_s)
            because = quote(
                "a run takes {run:s}, of which start and end are a part", {"run": observation.wall_s}
            )
        else:
            continue
        score = often * min(1.0, share / _HIGH)
        if score > promise.score:
            promise = replace(promise, score=score, because=f"{because}; {promise.because}")
    return promise


def is_in_force(spelling: Spelling, situation: Situation) -> bool:
    """Whether all that a spelling sets is variables that the user has set so already."""
    variables = spelling.environment
    only_variables = replace(spelling, environment={}, note="") == Spelling()
    return (
        bool(variables)
        and only_variables
        and all(in_force(situation, name) == value for name, value in variables.items())
    )


def distinct_values(
    knob: Knob, values: tuple[str, ...], situation: Situation, *, is_set: bool
) -> tuple[str, ...]:
    """The values that do something of their own to the messages that there are, one for each thing.

    ``is_set`` tells that the user has set what the knob sets, so that the library's default is not in force.
    """
    behaviour = situation.observation.behaviour
    if behaviour is None or not knob.threshold_of:
        return values
    can = situation.mpi.capabilities
    cuts_only = knob.name != "eager-node" or can.eager_cuts_only
    default = can.sizes_in_force.get(knob.name)
    done = set() if default is None or is_set else {behaviour.cuts(knob.threshold_of, default)}
    kept = []
    for value in values:
        size = parse_bytes(value)
        cuts = behaviour.cuts(knob.threshold_of, size)
        # Parts of larger messages become as large as it.
        cuts = cuts if cuts_only else tuple(side if side == inf else float(size) for side in cuts)
        if cuts not in done:
            done.add(cuts)
            kept.append(value)
    return tuple(kept)


def sizes_sent(knob: Knob, behaviour: Behaviour) -> str:
    """Why none of a knob's sizes does anything of its own."""
    sizes = behaviour.sizes.get(knob.threshold_of, ())
    if not sizes:
        return "no message is sent there"
    low, high = min(size.low_bytes for size in sizes), max(size.high_bytes for size in sizes)
    ends = dict.fromkeys(quote("{size:b}", {"size": end}) for end in (low, high))
    return f"messages of {' to '.join(ends)} lie on one side of every size worth trying"


def _said(alternatives: Iterable[Condition], behaviour: Behaviour) -> str:
    facts = dict.fromkeys(_FACTS[condition.number] for condition in alternatives)
    said = quote(" ".join(facts) if len(facts) < 3 else ", ".join(facts), behaviour.numbers)
    if not any(condition.number == "ucx_carries" for condition in alternatives):
        return said
    carriers = behaviour.carriers
    if "network" in carriers.ucx:
        return f"{said} (it serves messages between nodes)"
    return f"{said} (the library reports {carriers.transport})" if carriers.transport else said
