"""Rank orders in the syntax of launchers: files, options and variables that start ranks in an order."""

from collections import Counter
from collections.abc import Callable
from itertools import groupby

from mpiric.model.rank_order import RankOrder, RankOrderEmission

_RANKS_PER_LINE = 16  # ranks per line of MPICH_RANK_ORDER
# The rankfile decides mapping and binding. PRRTE refuses a second --map-by and, on several hosts,
# --bind-to none.
_REPLACED_BY_RANKFILE = ("--map-by", "--rank-by", "--bind-to")


def rank_order_forms() -> dict[str, Callable[[RankOrder], RankOrderEmission]]:
    """Map the name of each form on the command line to the function that writes it."""
    return {
        "hydra": _hydra,
        "intelmpi": _intelmpi,
        "lsf": _lsf,
        "mpich-rank-order": _mpich_rank_order,
        "openmpi-rankfile": _openmpi_rankfile,
        "prrte": _prrte,
        "slurm": _slurm,
    }


def _hydra(order: RankOrder) -> RankOrderEmission:
    """Write a machinefile with the slots of each host, and a map of ranks to host numbers (MPICH 5).

    If a machinefile alone names a host twice, MPICH treats the later ranks as if they were on another node,
    without shared memory to the others.
    """
    numbers = {host: number for number, host in enumerate(dict.fromkeys(order.hosts))}
    text = "".join(f"{host}:{count}\n" for host, count in Counter(order.hosts).items())
    runs = ((host, len(list(ranks))) for host, ranks in groupby(order.seats))
    rank_map = ",".join(f"({numbers[host]},1,{count})" for host, count in runs)
    options = ("-machinefile", "{file}", "-rankmap", f"'{rank_map}'")
    return RankOrderEmission(text, options, replaced=("-hosts", "-f"))  # Hydra refuses a second list of hosts


def _intelmpi(order: RankOrder) -> RankOrderEmission:
    """Write a machinefile with a line for each run of ranks on one host (Developer Reference)."""
    runs = ((host, len(list(ranks))) for host, ranks in groupby(order.seats))
    text = "".join(f"{host}:{count}\n" for host, count in runs)
    return RankOrderEmission(text, ("-machinefile", "{file}"), replaced=("-hosts", "-f", "-ppn"))


def _lsf(order: RankOrder) -> RankOrderEmission:
    """Write an explicit resource file of jsrun: host, counted from 1 in the job, and CPU of each rank."""
    numbers = {host: number for number, host in enumerate(dict.fromkeys(order.hosts), 1)}
    cores = order.cores
    lines = [
        f"rank: {rank}: {{ host: {numbers[order.hosts[slot]]}; cpu: {{{cores[slot]}}} }}"
        for rank, slot in enumerate(order.slots)
    ]
    return RankOrderEmission(
        "\n".join(["cpu_index_using: logical", *lines]) + "\n", ("--erf_input", "{file}")
    )


def _mpich_rank_order(order: RankOrder) -> RankOrderEmission:
    """Write ranks in the order of the slots for Cray MPICH (intro_mpi(3), reordering method 3)."""
    ranks = [str(rank) for rank in order.ranks]
    lines = [",".join(ranks[i : i + _RANKS_PER_LINE]) for i in range(0, len(ranks), _RANKS_PER_LINE)]
    text = "# ranks in the order of the slots\n" + "\n".join(lines) + "\n"
    variables = {"MPICH_RANK_REORDER_METHOD": "3", "MPICH_RANK_REORDER_FILE": "{file}"}
    return RankOrderEmission(text, environment=variables)


def _openmpi_rankfile(order: RankOrder) -> RankOrderEmission:
    """Write the rankfile of Open MPI 4 (mpirun(1), "Rankfiles")."""
    return RankOrderEmission(_rankfile(order), ("-rf", "{file}"), replaced=_REPLACED_BY_RANKFILE)


def _prrte(order: RankOrder) -> RankOrderEmission:
    """Write the rankfile of Open MPI 5, whose launcher PRRTE takes it as a mapping policy."""
    options = ("--map-by", "rankfile:file={file}")
    return RankOrderEmission(_rankfile(order), options, replaced=_REPLACED_BY_RANKFILE)


def _rankfile(order: RankOrder) -> str:
    """Return one line per rank; cores are counted from 0 on each host, as Open MPI does."""
    cores = order.cores
    lines = (f"rank {r}={order.hosts[slot]} slot={cores[slot]}" for r, slot in enumerate(order.slots))
    return "\n".join(lines) + "\n"


def _slurm(order: RankOrder) -> RankOrderEmission:
    """Write a host per rank, for Slurm's arbitrary distribution (srun(1), --distribution)."""
    text = "".join(f"{host}\n" for host in order.seats)
    return RankOrderEmission(text, ("--distribution=arbitrary",), {"SLURM_HOSTFILE": "{file}"})
