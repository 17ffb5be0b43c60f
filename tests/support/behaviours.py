"""Behaviours of common kinds of programs, as recorded from two or more ranks per node."""

from dataclasses import replace

from mpiric.model.policy import BLOCKING
from mpiric.model.profile import Behaviour, Carriers, MessageSizes
from mpiric.model.situation import Situation

KIB, MIB = 1 << 10, 1 << 20

# A program that only computes; defaults for the other behaviours.
_QUIET = {
    "nodes": 1.0,
    "node_ranks": 2.0,
    "mpi_bound": 0.002,
    "own_bound": 0.999,
    "fault_bound": 0.001,
    "allocator_bound": 0.001,
    "kernel_bound": 0.01,
    "outside_bound": 0.002,
    "node_message_bound": 0.0,
    "network_bound": 0.0,
    "ucx_bound": 0.0,
    "ucx_carries": 0.0,
    "io_bound": 0.0,
    "mpi_io_bound": 0.0,
    "unsafe_bound": 0.0,
    "io_bytes_written": 0.0,
    "io_bytes_read": 0.0,
    "small_io_share": 0.0,
    "printed_bytes": 0.0,
    "collective_file_calls": 0.0,
    "independent_file_calls": 0.0,
    "largest_node_message_bytes": 0.0,
    "most_node_messages": 0.0,
    "collective_calls": 0.0,
    "collective_bound": 0.0,
    "peak_bytes": 12.0 * MIB,
    "minor_faults_per_s": 20.0,
    **{f"{name}_{number}": 0.0 for name in BLOCKING for number in ("calls", "bound")},
}


def behaviour(*sizes: MessageSizes, reach: str = "node", transport: str = "", **numbers: float) -> Behaviour:
    """Return a program that only computes, except for these numbers and messages."""
    values = {**_QUIET, **numbers}
    return Behaviour(
        {"run_mpi_bound": values["mpi_bound"] * (1 - values["outside_bound"]), **values},
        sizes={"node": (), "network": (), "ucx": (), reach: sizes},
        carriers=Carriers(transport),
    )


def messages(*bytes_each: int, share: float = 0.5) -> Behaviour:
    """Return ranks of one node that exchange many messages of these sizes."""
    sizes = tuple(MessageSizes(size, size, 1000) for size in bytes_each)
    return behaviour(
        *sizes,
        mpi_bound=share,
        own_bound=1 - share / 2,
        node_message_bound=share,
        most_node_messages=1000.0,
        largest_node_message_bytes=float(max(bytes_each)),
    )


COMPUTES = behaviour()
LATENCY = messages(8, share=0.99)
HALO = messages(64, 4 * KIB, 64 * KIB)
# Messages with the faces of a field that is allocated again in each step.
HEAT = replace(
    messages(401_408, share=0.1),
    numbers={
        **messages(401_408, share=0.1).numbers,
        "fault_bound": 0.46,
        "allocator_bound": 0.2,
        "kernel_bound": 0.55,
        "minor_faults_per_s": 232_000.0,
        "peak_bytes": 400.0 * MIB,
        "allreduce_calls": 2.0,
        "allreduce_bound": 0.004,
        "collective_calls": 2.0,
        "collective_bound": 0.004,
    },
)
# One large MPI_Allreduce in shared memory, and nothing else.
ALLREDUCE = behaviour(
    mpi_bound=0.995,
    own_bound=0.006,
    fault_bound=0.0005,
    allreduce_calls=5.0,
    allreduce_bound=0.99,
    collective_calls=5.0,
    collective_bound=0.99,
)
CHURN = behaviour(
    own_bound=0.97, fault_bound=0.6, allocator_bound=0.4, minor_faults_per_s=400_000.0, peak_bytes=80.0 * MIB
)
SCATTERED = behaviour(own_bound=0.99, peak_bytes=1024.0 * MIB)
BETWEEN_NODES = behaviour(
    MessageSizes(64, 64, 600),
    MessageSizes(1 * MIB, 1 * MIB, 30),
    reach="network",
    nodes=2.0,
    node_ranks=1.0,
    mpi_bound=0.95,
    own_bound=0.1,
    network_bound=0.95,
)


def doing(situation: Situation, shown: Behaviour) -> Situation:
    """Return the situation with a recorded behaviour."""
    return replace(situation, observation=replace(situation.observation, behaviour=shown))
