"""Findings on ranks that wait for one another without end, for one rank, or for input.

`find_stuck` checks in turn whether

1. ranks wait for one another in a circle: a deadlock;
2. ranks are in MPI_Init, and others have not called it;
3. ranks wait for standard input;
4. most ranks wait for a few that are not in MPI, or make no progress there: a missing participant;
5. all ranks have been in MPI calls for long, for no reason that the record shows.

The waits are a graph: a rank needs all of its targets, or any of them (receive from any source). Hilbrich,
Protze, Schulz, de Supinski and Mueller, MPI runtime error detection with MUST, SC 2012. In the sentences,
ranks in the same state are one group: Arnold et al., Stack trace analysis for large scale debugging, IPDPS
2007.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from mpiric.host.host import Host
from mpiric.model.amount import seconds
from mpiric.model.errors import Finding
from mpiric.model.machine import pu_list
from mpiric.model.profile import MISSING_PARTICIPANT, Advice
from mpiric.model.record import ProcessState, Record
from mpiric.profile.sites import name_places
from mpiric.profile.standing import FINALIZE, Standing, standings, unrecorded

_LEAST_S = 1.0  # a shorter wait means nothing
_SHARE = 0.5  # share of the run that a wait for a rank outside MPI must have lasted
WAITS_IN_INIT = "waits-in-init"
_INPUT_FIX = (
    "give the input as a file (`< input`), or none (`< /dev/null`): launchers pass standard input on to "
    "rank 0 only"
)
_LATE_FIX = "find out at that place why MPI_Init is not called; each rank must call it"
_INIT = ("MPI_Init", "MPI_Session_init")
_MPI_FUNCTION = re.compile(r"P?(MPI_[A-Z]\w+)")
_LOOKUP = re.compile(r"(?:__GI_|__)?(getaddrinfo|getnameinfo|gethostby(?:name2?|addr)(?:_r)?)")
_MOST_GROUPS, _MOST_RANGES, _MOST_DIRECTIONS = 6, 6, 4  # printed in one sentence
_SOURCE = (
    "Hilbrich et al., MPI runtime error detection with MUST, SC 2012, https://doi.org/10.1109/SC.2012.79"
)
_CYCLE_FIX = {
    "send": "post the receives before the sends (MPI_Irecv), or use MPI_Sendrecv: MPI_Send may "
    "return only when its message is received",
    "receive": "let one of the ranks send before it receives, or use MPI_Sendrecv",
    "": "compare the order of calls at these places: each call needs its counterpart on the other ranks",
}


def stuck_advice(record: Record, host: Host | None = None) -> tuple[Advice, ...]:
    """Return findings on ranks that were waiting when the run was ended; empty if it ended by itself.

    With a ``host``, places in the program get the names of functions.
    """
    if not record.ended_unix_s:
        return ()
    run_s = record.ended_unix_s - min(rank.begin_unix_s for rank in record.ranks)
    ranks = standings(record, record.ended_unix_s)
    waited_s = max((rank.lasted_s for rank in ranks if rank.call), default=0.0)
    share = min(1.0, waited_s / max(1e-9, run_s))
    findings = find_stuck(ranks if host is None else named(ranks, host), max(_LEAST_S, _SHARE * run_s))
    return tuple(
        # A rank outside MPI may be working: then the times of the run are of interest, too.
        Advice(finding, share, None, "", (), (), _SOURCE, explains_run=finding.id != MISSING_PARTICIPANT)
        for finding in findings
    )


def named(ranks: Iterable[Standing], host: Host) -> tuple[Standing, ...]:
    """Return the ranks with names of functions in their places, and MPI calls of those without a record."""
    ranks = tuple(ranks)
    processes = [rank.process for rank in ranks if rank.process]
    names = name_places({place for one in processes for place in (one.place, *one.calls)}, host)
    return tuple(_named(rank, names) for rank in ranks)


def _named(rank: Standing, names: Mapping[str, str]) -> Standing:
    if rank.process is None:
        return rank
    process = replace(rank.process, place=names.get(rank.process.place, rank.process.place))
    if rank.has_record or process.reads_standard_input:  # no MPI function reads it
        return replace(rank, process=process)
    functions = [names.get(place, "").partition(" ")[0] for place in process.calls]
    call = next((match[1] for name in functions if (match := _MPI_FUNCTION.fullmatch(name))), "")
    looks_up = next((match[1] for name in functions if (match := _LOOKUP.fullmatch(name))), "")
    return replace(rank, call=call, looks_up=looks_up, process=process)


def init_advice(states: Mapping[str, ProcessState], expected: int, host: Host) -> Advice | None:
    """Return the finding on a launch that was ended before its ranks had returned from MPI_Init.

    ``states``: by the number of the rank, or by the name of a launcher without ranks. ``expected``: number of
    ranks in the launch line, 0 if it is unknown.
    """
    ranks = _unrecorded_ranks(states, expected, host)
    finding = _start_finding(ranks, states, host)
    if any(rank.call and not rank.call.startswith(_INIT) for rank in ranks):
        return None  # they run without the recording library
    if not finding and ranks:
        says = f"No rank has returned from MPI_Init: {'; '.join(_sentences(ranks, with_places=True))}"
        finding = Finding(WAITS_IN_INIT, says, "", _connection_fix(ranks) or _LATE_FIX)
    return Advice(finding, 1.0, None, "", (), (), _SOURCE, explains_run=True) if finding else None


def describe_states(states: Mapping[str, ProcessState], expected: int, host: Host) -> str:
    """Return what the ranks of an unrecorded launch do, "" if that is unknown; arguments of `init_advice`."""
    ranks = _unrecorded_ranks(states, expected, host)
    finding = _start_finding(ranks, states, host)
    return finding.says if finding else "; ".join(_sentences(ranks, with_places=True))


def _unrecorded_ranks(states: Mapping[str, ProcessState], expected: int, host: Host) -> tuple[Standing, ...]:
    """Return the ranks of a launch; none if there are only launchers."""
    present = {int(key): state for key, state in states.items() if key.isdigit()}
    numbers = sorted({*present, *range(expected)}) if present else []
    return named((unrecorded(number, present.get(number)) for number in numbers), host)


def _start_finding(
    ranks: Sequence[Standing], states: Mapping[str, ProcessState], host: Host
) -> Finding | None:
    """Return the finding on a launch whose ranks have not started, wait in MPI_Init, or for input before."""
    if ranks or not states:
        return next(iter(find_stuck(ranks, _LEAST_S)), None)
    name, state = list(states.items())[-1]
    (launcher,) = named([unrecorded(0, state)], host)
    says = f"No rank has started: {name} {_doing((launcher,))}{_place(launcher)}"
    fix = _connection_fix((launcher,)) or "start the launcher alone, with `true` as the program"
    return Finding(WAITS_IN_INIT, says, "", fix)


def find_stuck(ranks: Sequence[Standing], least_s: float) -> tuple[Finding, ...]:
    """Return findings on waiting ranks, the cause first.

    ``least_s``: shortest wait for a rank that is not part of a deadlock.
    """
    waiting = {rank.rank: rank for rank in ranks if rank.waits_for and rank.lasted_s >= _LEAST_S}
    evidence = "; ".join(_sentences(ranks, with_places=True))
    if blocked := _deadlocked(waiting):
        return (_deadlock([waiting[rank] for rank in sorted(_cycles(blocked, waiting))], evidence),)
    long = [rank for rank in ranks if rank.lasted_s >= least_s]
    if waits := _waits_in_init(long, evidence):
        return (waits,)
    if readers := [rank for rank in long if rank.reads_input]:
        return (_waits_for_input(readers, long, evidence),)
    if missing := _missing_participant(ranks, long, evidence):
        return (missing,)
    if ranks and len(long) == len(ranks) and all(_is_inside(rank) for rank in ranks):
        says = f"No rank makes progress: {_group(long)}"
        return (Finding("no-progress", says, evidence, _CYCLE_FIX[""]),)
    return ()


def _is_inside(rank: Standing) -> bool:
    return bool(rank.call) and rank.call != FINALIZE and rank.has_record


def _waits_in_init(ranks: Sequence[Standing], evidence: str) -> Finding | None:
    """Return the finding on ranks in MPI_Init, with the ranks that have not called it."""
    inside = [rank for rank in ranks if not rank.has_record and rank.call.startswith(_INIT)]
    late = [rank for rank in ranks if not rank.has_record and rank not in inside]
    if not inside:
        return None
    fix = _connection_fix(inside)
    if late:
        have = "has" if len(late) == 1 else "have"
        says = f"{'; '.join(_sentences(inside))}, which {_ranks(late)} {have} not called: "
        says += "; ".join(_sentences(late, with_places=True))
        fix = fix or (_INPUT_FIX if any(rank.reads_input for rank in late) else _LATE_FIX)
    else:
        says = f"{'; '.join(_sentences(inside, with_places=True))}: the ranks do not reach one another"
        fix = fix or "check the launcher and the network that the library chooses: `mpiric fabric` shows it"
    return Finding(WAITS_IN_INIT, says[0].upper() + says[1:], evidence, fix)


def _connection_fix(ranks: Sequence[Standing]) -> str:
    """Return the fix of a wait for a name or an address; "" if no rank waits for one."""
    if any(rank.looks_up for rank in ranks):
        return "add the names of the hosts to /etc/hosts, or repair the name server in /etc/resolv.conf"
    if addresses := [rank.process.connects_to for rank in ranks if rank.process and rank.process.connects_to]:
        return f"check that {addresses[0]} is reachable: `ip route get`, firewall, interfaces of the library"
    return ""


def _deadlocked(waiting: Mapping[int, Standing]) -> set[int]:
    """Return the ranks that no sequence of calls of other ranks can release."""
    blocked, before = set(waiting), -1
    while len(blocked) != before:
        before = len(blocked)
        for rank in sorted(blocked):
            needed = waiting[rank].waits_for
            if (needed - blocked) if waiting[rank].any_of else not (needed & blocked):
                blocked.discard(rank)
    return blocked


def _cycles(blocked: Collection[int], waiting: Mapping[int, Standing]) -> set[int]:
    """Return the ranks for which another rank of the set waits: the cycles, and paths between them."""
    core: set[int] = set(blocked)
    while True:
        needed = set().union(*(waiting[rank].waits_for for rank in core)) & core
        if needed == core:
            return core
        core = needed


def _deadlock(core: list[Standing], evidence: str) -> Finding:
    """Return the finding on ranks in a circle, with a fix for the kind of their calls if it is the same."""
    kinds, calls = {rank.kind for rank in core}, {rank.call for rank in core}
    kind = kinds.pop() if len(kinds) == 1 and not any("Sendrecv" in call for call in calls) else ""
    other = "the other" if len(core) == 2 else "another one"
    action = {"send": f"{other} to receive", "receive": f"{other} to send"}.get(kind, other)
    says = f"Deadlock: {'; '.join(_sentences(core))}: each waits for {action}"
    if kind == "collective" and len(calls) > 1:
        says = f"Ranks call different collectives at the same time: {'; '.join(_sentences(core))}"
    return Finding("deadlock", says, evidence, _CYCLE_FIX.get(kind, _CYCLE_FIX[""]))


def _waits_for_input(readers: list[Standing], long: list[Standing], evidence: str) -> Finding:
    """Return the finding on ranks that read standard input, and on ranks that wait for these."""
    numbers = {rank.rank for rank in readers}
    waiters = [rank for rank in long if rank.waits_for & numbers]
    effect = f", and {_group(waiters)}" if waiters else ""
    says = f"{_ranks(readers)} {_verb(readers, 'wait')} for standard input{effect}"
    return Finding("waits-for-input", says[0].upper() + says[1:], evidence, _INPUT_FIX)


def _missing_participant(
    ranks: Sequence[Standing], long: Sequence[Standing], evidence: str
) -> Finding | None:
    """Return the finding on ranks for which most others wait, and that wait for nobody."""
    by_number = {rank.rank: rank for rank in ranks}
    # Call and its communicator → ranks that wait in it, and ranks for which they wait.
    waiters: dict[tuple[str, str], list[Standing]] = defaultdict(list)
    late_numbers: dict[tuple[str, str], set[int]] = defaultdict(set)
    for waiter in long:
        roots = {number for number in waiter.waits_for if number in by_number}
        roots = {number for number in roots if not by_number[number].waits_for}
        # A rank that calls MPI now and then makes progress.
        late_roots = {
            number
            for number in roots
            if by_number[number].lasted_s >= _LEAST_S or not by_number[number].has_record
        }
        if late_roots and (late_roots == roots or not waiter.any_of):
            waiters[waiter.call, waiter.on].append(waiter)
            late_numbers[waiter.call, waiter.on] |= late_roots
    if not waiters:
        return None
    call, communicator = max(waiters, key=lambda key: (len(waiters[key]), key))
    waiting = waiters[call, communicator]
    late = [by_number[number] for number in sorted(late_numbers[call, communicator])]
    states = _sentences(late, with_places=True)
    if waiting[0].kind == "collective":
        have, they = ("has", "it") if len(late) == 1 else ("have", "they")
        doing = f"{they} {_doing(late)}{_place(late[0])}" if len(states) == 1 else "; ".join(states)
        where = f"{call} on {communicator}" if communicator else call
        waits = f"{_ranks(waiting)} {_verb(waiting, 'wait')}"
        says = f"{_ranks(late)} {have} not entered {where}, in which {waits}: {doing}."
    else:
        says = f"{_group(waiting)}, and {'; '.join(states)}."
    fix = (
        "find out at that place why the call is not reached: more work than the others have, or an endless "
        "loop"
    )
    return Finding(MISSING_PARTICIPANT, says[0].upper() + says[1:], evidence, fix)


def _doing(ranks: Sequence[Standing]) -> str:
    """Describe the state of ranks in the same state: ``is in application code``."""
    first = ranks[0]
    have, be = ("has", "is") if len(ranks) == 1 else ("have", "are")
    inside = f" in {first.call}" if first.call else ""
    if not first.has_record and first.process is None:
        return f"{be} absent (ended, or not started on this node)"
    if first.looks_up:
        return f"{_verb(ranks, 'wait')}{inside} for the address of a host name ({first.looks_up})"
    if first.process and first.process.connects_to:
        return f"{_verb(ranks, 'wait')}{inside} for an answer of {first.process.connects_to}"
    if first.reads_input:
        return f"{_verb(ranks, 'wait')} for standard input"
    if first.call and not first.has_record:
        return f"{be}{inside}"
    if first.call:
        call = f"{first.call} on {first.on}" if first.kind == "collective" and first.on else first.call
        duration = seconds(min(rank.lasted_s for rank in ranks))
        return f"{have} been in {call} for {duration}{_message(ranks)}"
    if first.polls:
        return f"{_verb(ranks, 'call')} {first.polls} again and again"
    state = first.process.state if first.process else ""  # letter in /proc/PID/stat
    unusual = {"D": ", waiting for a file system or device", "T": ", stopped by a signal", "t": ", traced"}
    return f"{be} in application code{unusual.get(state, '')}"


def _sentences(ranks: Sequence[Standing], *, with_places: bool = False) -> list[str]:
    """Return one text for all ranks in the same state, the states of most ranks first."""
    groups: dict[object, list[Standing]] = defaultdict(list)
    for rank in ranks:
        place = rank.process.place if rank.process and with_places else ""
        waits = (rank.process.system_call, rank.process.file) if rank.process and not rank.call else ()
        shape = "to" if rank.toward.startswith("to ") else rank.toward.partition(" ")[0]
        state = (rank.call, rank.polls, rank.has_record, rank.process is None, rank.looks_up, place, waits)
        groups[rank.on, rank.amount, shape, state].append(rank)
    ordered = sorted(groups.values(), key=lambda group: (-len(group), group[0].rank))
    lines = [_group(group, with_place=with_places) for group in ordered[:_MOST_GROUPS]]
    if len(ordered) > _MOST_GROUPS:
        hidden = sum(map(len, ordered[_MOST_GROUPS:]))
        lines.append(f"{hidden} ranks in {len(ordered) - _MOST_GROUPS} other states")
    return lines


def _group(ranks: Sequence[Standing], *, with_place: bool = False) -> str:
    """Return ``ranks 0 and 1 have been in MPI_Send for 3.9 s (160,000 bytes to 1 and to 0)``."""
    return f"{_ranks(ranks)} {_doing(ranks)}{_place(ranks[0]) if with_place else ''}"


def _message(ranks: Sequence[Standing]) -> str:
    """Return amount and directions of the messages: `` (160,000 bytes to 1 and to 0)``."""
    amounts = {rank.amount for rank in ranks}
    amount = amounts.pop() if len(amounts) == 1 else ""
    toward = list(dict.fromkeys(rank.toward for rank in ranks if rank.toward))
    shown = toward[:_MOST_DIRECTIONS]
    if len(toward) > _MOST_DIRECTIONS:
        shown = [*shown[:-1], "…"]
    direction = " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))
    text = " ".join(filter(None, (amount if ranks[0].kind != "receive" else "", direction)))
    return f" ({text})" if text else ""


def _place(rank: Standing) -> str:
    """Describe where in the program a rank is: `` at solve.c:12, in the system call read of /data/in``."""
    if rank.process is None or rank.reads_input:
        return ""
    place = rank.process.place
    short = place if "(" in place else place.rpartition("/")[2]
    at = f" at {short}" if short else ""
    call = rank.process.system_call if not rank.call else ""
    of = f" of {rank.process.file}" if call and rank.process.file else ""
    return f"{at}, in the system call {call}{of}" if call else at


def _ranks(ranks: Sequence[Standing]) -> str:
    """Return ``rank 3``, ``ranks 0-7, 12``, or of many ranges only the first."""
    numbers = [rank.rank for rank in ranks]
    if len(numbers) <= 2:
        return f"rank{'s' if len(numbers) > 1 else ''} {' and '.join(map(str, numbers))}"
    ranges = pu_list(numbers).split(",")
    if len(ranges) > _MOST_RANGES:
        return f"{len(numbers)} ranks ({', '.join(ranges[:_MOST_RANGES])}, …)"
    return f"ranks {', '.join(ranges)}"


def _verb(ranks: Sequence[Standing], verb: str) -> str:
    return f"{verb}s" if len(ranks) == 1 else verb
