"""Message protocols: eager or rendezvous, number of buffers, copying and matching."""

from collections.abc import Mapping

from mpiric.knobs._declaration import knob
from mpiric.model.amount import share, size
from mpiric.model.knob import Bytes, Choice, Count, Skip, Try, parse_bytes
from mpiric.model.situation import Situation

_KIB, _MIB = 1 << 10, 1 << 20
_CELLS_BYTES = 64 << 20  # maximum shared memory of a node for cells
_NEEDED = {"avx512": "avx512f", "avx2": "avx2"}  # routine → feature of the CPU
_PLAIN = "the gain depends on the message sizes of the program"


def _silent_on_node(knob: str, situation: Situation) -> str:
    """Return why a setting for messages within a node has no effect, "" if it may have one."""
    if situation.ranks_per_node < 2:
        return "one rank per node sends no messages on its node"
    if knob not in situation.mpi.capabilities.settings:
        return "the library has no setting for it"
    return "" if situation.shown("node_message_bound") > 0 else "no message is sent on a node"


def _silent_between_nodes(situation: Situation) -> str:
    if situation.nodes < 2 or situation.rank_count < 2:
        return "no messages between nodes"
    return "" if situation.shown("nodes") >= 2 else "the job runs on one node"


def _consider_eager_node(situation: Situation) -> Skip | Try:
    reason = _silent_on_node("eager-node", situation)
    return Skip(reason) if reason else Try(("8KiB", "16KiB", "64KiB", "256KiB"), 0.3, _PLAIN)


def _eager_node_brings(value: str, situation: Situation) -> Mapping[str, str]:
    """Reduce the number of cells if they are large and each rank has its own pool of them, as in MPICH.

    If the kernel copies messages from some size on, larger cells stay empty unless that threshold moves
    too.
    """
    can, size = situation.mpi.capabilities, parse_bytes(value)
    fitting = _CELLS_BYTES // situation.rank_count // (size + 4 * _KIB)
    count = max(16, min(can.cells_per_rank, fitting))
    fewer = {"node-buffers": str(count)} if count < can.cells_per_rank else {}
    later = {"single-copy-threshold": value} if 0 < can.kernel_copy_from_bytes < size else {}
    return fewer | later


def _consider_threshold(situation: Situation) -> Skip | Try:
    if not situation.mpi.capabilities.has_single_copy_threshold:
        return Skip("this version copies through buffers only")
    reason = _silent_on_node("single-copy-threshold", situation)
    return Skip(reason) if reason else Try(("4KiB", "32KiB", "128KiB", "1MiB"), 0.25, _PLAIN)


def _consider_buffers(situation: Situation) -> Skip | Try:
    can = situation.mpi.capabilities
    if reason := _silent_on_node("node-buffers", situation):
        return Skip(reason)
    if (messages := situation.shown("most_node_messages")) <= 32:
        return Skip(f"a rank sends {messages:,.0f} messages on its node at most")
    current = situation.in_force(can.node_buffers_variable) or can.node_buffers
    return Try(tuple(count for count in ("64", "128", "256") if count != current), 0.15, _PLAIN)


def _consider_copy(situation: Situation) -> Skip | Try:
    if reason := _silent_on_node("memory-copy", situation):
        return Skip(reason)
    if (largest := situation.shown("largest_node_message_bytes")) < 1024:
        return Skip(f"no message on a node is larger than {size(largest)}")
    offered, features = situation.mpi.capabilities.memory_copies, situation.machine.cpu.features
    values = tuple(name for name in offered if _NEEDED.get(name) in (None, *features))
    return Try(values, 0.15, _PLAIN)


def _consider_eager_network(situation: Situation) -> Skip | Try:
    reason = _silent_between_nodes(situation)
    return Skip(reason) if reason else Try(("8KiB", "32KiB", "128KiB", "512KiB"), 0.35, _PLAIN)


def _consider_progress(situation: Situation) -> Skip | Try:
    can = situation.mpi.capabilities
    if "async-progress" not in can.settings:
        return Skip(f"{can.title} has no setting for it")
    if situation.rank_count < 2:
        return Skip("one rank sends no messages")
    if situation.shown("large_nonblocking") < 1:
        return Skip("no large message is sent by a nonblocking call")
    if situation.cpus_per_node < situation.ranks_per_node * (situation.threads_per_rank + 1):
        return Skip("no CPU is free for the progress thread of each rank")
    waits = situation.number("wait_share")
    return Try(("on",), 0.3, f"{share(waits)} of the time passes in MPI_Wait, after nonblocking calls")


def _progress_brings(_value: str, situation: Situation) -> Mapping[str, str]:
    """Unbind ranks: the thread inherits the CPU of a bound rank, and would take its time."""
    unbound = not situation.mpi.capabilities.binds_by_default and situation.observation.unbound
    return {} if unbound else {"binding": "none"}


KNOBS = (
    knob("async-progress", Choice(("on",)), _consider_progress, brings=_progress_brings),
    knob(
        "eager-node",
        Bytes(1 * _KIB, 1 * _MIB),
        _consider_eager_node,
        brings=_eager_node_brings,
        threshold_of="node",
    ),
    knob("single-copy-threshold", Bytes(1 * _KIB, 64 * _MIB), _consider_threshold, threshold_of="node"),
    knob("node-buffers", Count(8, 1024), _consider_buffers),
    knob("eager-network", Bytes(1 * _KIB, 16 * _MIB), _consider_eager_network, threshold_of="network"),
    knob("memory-copy", Choice(("avx512", "avx2", "sse", "memcpy", "memmove")), _consider_copy),
)
