"""Placement plans as command lines.

GPU and network adapters of each rank are chosen by variables of the launch, else by a script that each rank
starts.
"""

from collections.abc import Sequence
from dataclasses import replace

from mpiric.launchers._dialect import dialects
from mpiric.launchers._emission import rank_expression
from mpiric.model.amount import number_of
from mpiric.model.errors import MpiricError
from mpiric.model.placement import Emission, Plan, Seat


def placing_launchers() -> tuple[str, ...]:
    """Return the names of launchers that can carry out a plan, in alphabetical order."""
    return tuple(name for name, dialect in dialects().items() if dialect.emit is not None)


def emit(plan: Plan, launcher: str) -> Emission:
    """Return the command line of a launcher. Raises MpiricError if it cannot carry out plans."""
    emitter = dialects()[launcher].emit if launcher in dialects() else None
    if emitter is None:
        raise MpiricError(
            f"launcher {launcher!r} is unknown, or cannot place ranks as planned",
            hint=f"use one of {', '.join(placing_launchers())}",
        )
    return with_devices(plan, launcher, emitter(plan))


def emit_all(plans: Sequence[Plan]) -> dict[str, Emission]:
    """Return the command line of each launcher, by name; several plans describe different nodes, by rank."""
    if len(plans) == 1:
        return {name: emit(plans[0], name) for name in placing_launchers()}
    uneven = {name: dialect.emit_uneven for name, dialect in dialects().items()}
    return {name: emitter(plans) for name, emitter in uneven.items() if emitter is not None}


_SCRIPT = "devices.sh"
_CRAY = ("srun", "pals", "aprun")  # launchers of Cray MPICH, which maps ranks to adapters itself
_NUMBERED_BY_BUS = {
    "CUDA_VISIBLE_DEVICES": "CUDA_DEVICE_ORDER=PCI_BUS_ID",
    "ZE_AFFINITY_MASK": "ZE_ENABLE_PCI_ID_DEVICE_ORDER=1 ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE",
}
_ADAPTERS = {"mlx": "UCX_NET_DEVICES", "cxi": "FI_CXI_DEVICE_NAME"}  # beginning of a name → variable


def with_devices(plan: Plan, launcher: str, emission: Emission) -> Emission:
    """Return the launch with the GPU of each rank and, on several nodes, its network adapters.

    Tiles of a GPU, and GPUs and adapters whose launcher has no option for them, are chosen by a script.
    """
    by_launcher = launcher == "srun" and not plan.has_tiles
    gpu = _gpu_variable(plan) if not by_launcher else ""
    adapter = _adapter_variable(plan)
    cray = adapter == "FI_CXI_DEVICE_NAME" and launcher in _CRAY
    offload = _offload(plan) if launcher == "intelmpi" and gpu == "ZE_AFFINITY_MASK" else {}
    env = {**emission.env, **(_cray_adapters(plan) if cray else {}), **offload}
    gpu, adapter = "" if offload else gpu, "" if cray else adapter
    if not gpu and not adapter:
        return replace(emission, env=env)
    files = {**emission.files, _SCRIPT: _script(plan, gpu, adapter)}
    return replace(emission, argv=(*emission.argv, "sh", _SCRIPT), env=env, files=files)


def _gpu_variable(plan: Plan) -> str:
    variables = {plan.gpus[seat.gpu].variable for seat in plan.seats if seat.gpu >= 0}
    return variables.pop() if len(variables) == 1 else ""


def _adapter_variable(plan: Plan) -> str:
    """Return the variable of the adapters, "" if ranks need not choose: on one node, or all use the same."""
    names = {seat.adapters for seat in plan.seats}
    if plan.nodes == 1 or (len(names) == 1 and len(plan.seats) > 1) or () in names:
        return ""
    variables = {_ADAPTERS.get(name[:3], "") for adapters in names for name in adapters}
    return variables.pop() if len(variables) == 1 else ""


def _cray_adapters(plan: Plan) -> dict[str, str]:
    """Return the variables of Cray MPICH, which gives each rank one adapter (manual page intro_mpi)."""
    ranks: dict[int, list[str]] = {}
    for rank, seat in enumerate(plan.seats):
        ranks.setdefault(number_of(seat.adapters[0].removeprefix("cxi")), []).append(str(rank))
    mapping = ";".join(f"{number}:{','.join(ranks[number])}" for number in sorted(ranks))
    return {"MPICH_OFI_NIC_POLICY": "USER", "MPICH_OFI_NIC_MAPPING": mapping}


def _offload(plan: Plan) -> dict[str, str]:
    """Return the variables of Intel MPI, which pins ranks to the GPUs or tiles of a list ("GPU Pinning")."""
    return {
        "I_MPI_OFFLOAD": "1",
        "I_MPI_OFFLOAD_CELL": "tile" if plan.has_tiles else "device",
        "I_MPI_OFFLOAD_CELL_LIST": ",".join(str(seat.gpu) for seat in plan.seats),
    }


def _script(plan: Plan, gpu: str, adapter: str) -> str:
    """Return a script that chooses among the GPUs that the job may see, which a scheduler may number."""

    def case(rank: int, seat: Seat) -> str:
        chosen = (
            f"gpu={seat.gpu + 1}" if gpu else "",
            f"adapters={','.join(seat.adapters)}" if adapter else "",
        )
        return f"{rank}) {' '.join(filter(None, chosen))} ;;\n"

    cases = "".join(case(rank, seat) for rank, seat in enumerate(plan.seats))
    lines = ""
    if gpu:
        every = ",".join(device.number for device in plan.gpus)
        lines += f'list=${{{gpu}:-{every}}}\nexport {gpu}="$(echo "$list" | cut -d, -f"$gpu")"'
        lines += f" {_NUMBERED_BY_BUS.get(gpu, '')}".rstrip() + "\n"
    if adapter:
        lines += f'export {adapter}="$adapters"\n'
    return (
        "#!/bin/sh\n"
        f"# sh {_SCRIPT} PROGRAM …: give this rank its GPU and network adapters, then execute the program.\n"
        f"case $(({rank_expression()} % {plan.ranks_per_node})) in\n{cases}esac\n"
        f'{lines}exec "$@"\n'
    )
