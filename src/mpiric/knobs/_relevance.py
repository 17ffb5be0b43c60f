"""Share of the time that a knob can affect, and knob values with identical effects."""

from collections.abc import Mapping
from dataclasses import replace
from math import inf

from mpiric.model.amount import quote
from mpiric.model.amount import share as shown_share
from mpiric.model.job import Spelling
from mpiric.model.knob import Knob, Skip, Try, parse_bytes
from mpiric.model.policy import BLOCKING
from mpiric.model.profile import Behaviour
from mpiric.model.situation import Situation

_USUAL_START_S = 0.3  # assumed time for start and end of an MPI program without a record
_HIGH = 0.3  # share of the time at which a knob helps as often as it ever does

# Activity whose time a bound limits.
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


def scaled(knob: Knob, answer: Try, situation: Situation) -> Skip | Try:
    """Scale an answer by the share of the time that the knob affects; Skip if the share is too small.

    The limit is `Situation.least_share`. The prior is at least the frequency with which the knob helped
    programs with a similar share of the time.
    """
    behaviour, limit = situation.observation.behaviour, situation.least_share
    share = behaviour.bound(knob.touches) if behaviour and knob.touches else 1.0
    if behaviour and knob.touches and limit is not None and share <= limit:
        parts = [BOUNDS[name] for name in knob.touches if behaviour.numbers[name] > 0]
        if share == 0:
            return Skip(f"no time goes into {BOUNDS[knob.touches[0]]}")
        return Skip(f"{shown_share(share)} of a rank's time goes into {' and '.join(parts)}")
    prior, because = answer.prior, answer.because
    for name, often in knob.helped_where:
        if name == "outside_bound" and situation.mpi.capabilities.starts_light:
            continue
        wall_s = situation.observation.wall_s
        if behaviour is not None:
            of_time = behaviour.numbers.get(name, 0.0)
            why = f"{shown_share(of_time)} of the time goes into {BOUNDS[name]}"
        elif name == "outside_bound" and wall_s > 0:
            of_time = min(1.0, _USUAL_START_S / wall_s)
            why = f"a run takes {wall_s:.3g} s, of which start and end are a part"
        else:
            continue
        score = often * min(1.0, of_time / _HIGH)
        if score > prior:
            prior, because = score, f"{why}; {answer.because}"
    return replace(answer, prior=prior, because=because, share=share)


def is_in_force(spelling: Spelling, situation: Situation) -> bool:
    """Return whether a spelling only sets variables that have these values already.

    The user has set them, or the library reported them as defaults.
    """
    variables = spelling.environment
    only_variables = replace(spelling, environment={}, unset=(), note="") == Spelling()
    return (
        bool(variables)
        and only_variables
        and all(situation.in_force(name) is None for name in spelling.unset)
        and all(
            _normal(situation.in_force(name) or situation.library_defaults.get(name)) == _normal(value)
            for name, value in variables.items()
        )
    )


def _normal(value: str | None) -> str | None:
    """Return a boolean value as the number that libraries accept for it."""
    return {"true": "1", "yes": "1", "on": "1", "false": "0", "no": "0", "off": "0"}.get(
        (value or "").lower(), value
    )


def distinct(knob: Knob, answer: Try, situation: Situation, *, is_set: bool) -> Skip | Try:
    """Remove values with identical effects on the recorded messages from an answer; Skip if none is left.

    ``is_set``: the user has set the knob's variables, so that the library's default is not effective.
    """
    behaviour = situation.observation.behaviour
    if behaviour is None or situation.least_share is None or not knob.threshold_of:
        return answer
    can = situation.mpi.capabilities
    cuts_only = knob.name != "eager-node" or can.eager_cuts_only
    default = can.sizes_in_force.get(knob.name)
    done = set() if default is None or is_set else {behaviour.cuts(knob.threshold_of, default)}
    values = []
    for value in answer.values:
        size = parse_bytes(value)
        cuts = behaviour.cuts(knob.threshold_of, size)
        # Chunks of larger messages grow to this size.
        cuts = cuts if cuts_only else tuple(side if side == inf else float(size) for side in cuts)
        if cuts not in done:
            done.add(cuts)
            values.append(value)
    return replace(answer, values=tuple(values)) if values else Skip(_sizes_sent(knob, behaviour))


def _sizes_sent(knob: Knob, behaviour: Behaviour) -> str:
    """Return why none of a knob's sizes has a distinct effect."""
    sizes = behaviour.sizes.get(knob.threshold_of, ())
    if not sizes:
        return "no message is sent there"
    low, high = min(size.low_bytes for size in sizes), max(size.high_bytes for size in sizes)
    ends = dict.fromkeys(quote("{size:b}", {"size": end}) for end in (low, high))
    return f"messages of {' to '.join(ends)} are on the same side of every candidate size"
