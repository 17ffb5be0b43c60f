"""Message protocols: eager or rendezvous, number of buffers, copying and matching."""

from collections.abc import Mapping

from mpiric.model.amount import size
from mpiric.model.knob import Bytes, Choice, Count, Knob, Skip, Try, parse_bytes
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


KNOBS = (
    Knob(
        name="eager-node",
        sentence="Size up to which a message on the node is sent without waiting for its receiver",
        why="Eager messages save a round trip and cost a copy and buffers, which grow along",
        source=(
            "btl_vader_eager_limit and btl_sm_eager_limit (4 KiB), MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE "
            "(68 KiB in 4.0, 8 KiB in 5.0), I_MPI_SHM_CELL_FWD_SIZE as the libraries describe them"
        ),
        evidence="benchmarks/results/answers.md: late receiver, 1.47 times, with single-copy-threshold",
        domain=Bytes(1 * _KIB, 1 * _MIB),
        consider=_consider_eager_node,
        brings=_eager_node_brings,
        touches=("node_message_bound",),
        threshold_of="node",
        symptoms=("point_to_point_share",),
    ),
    Knob(
        name="single-copy-threshold",
        sentence="Size from which a message on the node is copied straight out of the sender's memory",
        why="The kernel's copy costs a call: cheap for large messages, expensive for small ones",
        source="MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD (8 KiB), I_MPI_SHM_CMA_THRESHOLD in the manuals",
        evidence="benchmarks/results/answers.md: late receiver, 1.47 times as fast (and eager-node)",
        domain=Bytes(1 * _KIB, 64 * _MIB),
        consider=_consider_threshold,
        touches=("node_message_bound",),
        threshold_of="node",
        symptoms=("point_to_point_share", "system_share"),
    ),
    Knob(
        name="node-buffers",
        sentence="How many messages on the node may be under way before a sender has to wait",
        why="Bursts of messages stop when buffers run out; more of them cost memory and cache",
        source="btl_sm_fbox_max, MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_NUM_CELLS, I_MPI_SHM_CELL_FWD_NUM",
        evidence="benchmarks/results/long_programs.md: LULESH, in an answer of 1.37 times",
        domain=Count(8, 1024),
        consider=_consider_buffers,
        touches=("node_message_bound",),
        symptoms=("point_to_point_share",),
    ),
    Knob(
        name="eager-network",
        sentence="Size up to which a message between nodes is sent without waiting for its receiver",
        why="Eager messages save a round trip of the network; every peer needs buffers of that size",
        source=(
            "btl_tcp_eager_limit (64 KiB), MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD, UCX_RNDV_THRESH in ucx_info "
            "-cf, "
            "FI_OFI_RXM_BUFFER_SIZE in fi_rxm(7), FI_CXI_RDZV_THRESHOLD in fi_cxi(7), MV2_IBA_EAGER_THRESHOLD"
        ),
        evidence=(
            "https://github.com/openucx/ucx/issues/1832: 8.9 GB/s by default, 10.4 GB/s with "
            "UCX_RNDV_THRESH=66000"
        ),
        domain=Bytes(1 * _KIB, 16 * _MIB),
        consider=_consider_eager_network,
        touches=("network_bound",),
        threshold_of="network",
        symptoms=("point_to_point_share",),
    ),
    Knob(
        name="memory-copy",
        sentence="The routine that copies messages through shared memory",
        why="Vector width and streaming stores suit some sizes, CPUs and clock limits better than others",
        source="I_MPI_SHM in the Intel MPI Developer Reference; btl_vader_memcpy_limit of Open MPI",
        evidence="benchmarks/results/long_programs.md: LULESH, in an answer of 1.37 times",
        domain=Choice(("avx512", "avx2", "sse", "memcpy", "memmove")),
        consider=_consider_copy,
        touches=("node_message_bound",),
        symptoms=("point_to_point_share",),
    ),
)
