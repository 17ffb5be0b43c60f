"""HPE's PALS ``mpiexec``: long options after one dash or two; ``--env`` takes NAME=VALUE or NAME VALUE.

Sources: mpiexec(1) of PALS as HPE's Cray CLI prints it, and the user guides of ALCF; not tested on such a
system.
"""

from collections.abc import Sequence

from mpiric.launchers._dialect import (
    Dialect,
    Grammar,
    HostFormat,
    Option,
    assignment,
    bare_name,
    by_commas,
    first_word,
    flags,
    separate,
    valued,
)
from mpiric.launchers._emission import bound_inside, hosts_with_ranks, openmp_variables, ranks_in_all
from mpiric.launchers._spellers import by_depth, by_word
from mpiric.model.amount import version_by
from mpiric.model.job import Meaning
from mpiric.model.machine import pu_list
from mpiric.model.placement import Emission, Plan

_BINDING = {"none": "none", "core": "core", "hwthread": "thread", "numa": "numa", "package": "socket"}

_OPTIONS = (
    Option(("n", "np"), 1, Meaning.RANKS, variable="PALS_NRANKS"),
    Option(("ppn",), 1, Meaning.RANKS_PER_NODE, variable="PALS_PPN"),
    Option(("depth", "d"), 1, Meaning.THREADS_PER_RANK, variable="PALS_DEPTH"),
    Option(("hosts", "host", "hostlist"), 1, Meaning.HOSTS, variable="PALS_HOSTLIST"),
    Option(("hostfile", "f"), 1, Meaning.HOSTFILE, variable="PALS_HOSTFILE"),
    Option(("env", "genv"), 2, Meaning.ENVIRONMENT),
    Option(("envlist", "genvlist"), 1, Meaning.ENVIRONMENT_LIMIT, variable="PALS_ENVLIST"),
    Option(("envnone", "genvnone"), 0, Meaning.ENVIRONMENT_LIMIT, implied="none"),
    Option(("envall", "genvall"), 0, Meaning.ENVIRONMENT_LIMIT, implied="all"),
    Option(("wdir",), 1, Meaning.WORKING_DIRECTORY, variable="PALS_WDIR"),
    Option(("cpu-bind",), 1, Meaning.BINDING, variable="PALS_CPU_BIND"),
    Option(("mem-bind",), 1, Meaning.MEMORY_BINDING, variable="PALS_MEM_BIND"),
    Option(("configfile",), 1, Meaning.PROGRAM_FILE),
    Option(("pmi",), 1, Meaning.PROCESS_MANAGER, variable="PALS_PMI"),
    *flags("transfer no-transfer label l no-label exclusive shared line-buffer no-line-buffer verbose v"),
    *flags("abort-on-failure no-abort-on-failure sstartup no-sstartup no-vni help h version"),
    *valued("soft arch path file umask include-tasks exclude-tasks procinfo-file rlimits gpu-bind"),
    *valued("single-node-vni rankfile mem-policy palsd-timeout"),
)


def _emit(plan: Plan) -> Emission:
    """Return the options of ``mpiexec``."""
    argv = ["mpiexec", "-n", str(plan.request.ranks), "--ppn", str(plan.ranks_per_node)]
    if plan.hosts:
        argv += ["--hosts", ",".join(plan.hosts)]
    argv += ["--cpu-bind", "list:" + ":".join(pu_list(seat.pus) for seat in plan.seats)]
    if len(plan.topology.numa_nodes) > 1:
        argv += ["--mem-bind", "local"]
    return Emission(tuple(argv), openmp_variables(plan))


def _emit_uneven(plans: Sequence[Plan]) -> Emission:
    """Name each host as often as it has ranks; ``list:`` is the same on all hosts."""
    hosts = ",".join(host for host, count in hosts_with_ranks(plans) for _ in range(count))
    argv = ("mpiexec", "-n", str(ranks_in_all(plans)), "--hosts", hosts, "--cpu-bind", "none")
    return bound_inside(plans, argv)


DIALECT = Dialect(
    name="pals",
    launcher_names=("mpiexec",),
    grammar=Grammar(equals=True, long_after_one_dash=True, attached_values=True, pair_in_one_word=True),
    options=_OPTIONS,
    recognise_version=version_by(r"(?im)(?:PALS\D+|^mpiexec version )(\d\S+)"),
    write={
        **separate(
            {
                Meaning.RANKS: "-n",
                Meaning.RANKS_PER_NODE: "--ppn",
                Meaning.THREADS_PER_RANK: "--depth",
                Meaning.HOSTS: "--hosts",
                Meaning.HOSTFILE: "--hostfile",
                Meaning.WORKING_DIRECTORY: "--wdir",
                Meaning.BINDING: "--cpu-bind",
                Meaning.MEMORY_BINDING: "--mem-bind",
                Meaning.PROCESS_MANAGER: "--pmi",
            }
        ),
        Meaning.ENVIRONMENT: assignment("--env"),
        Meaning.ENVIRONMENT_LIMIT: lambda values: (
            (f"--env{values[0]}",) if values[0] in {"all", "none"} else ("--envlist", *values)
        ),
    },
    spellings={
        "binding": by_word(_BINDING, lambda word: ("--cpu-bind", word)),
        "threads-per-rank": by_depth("--depth", "--cpu-bind"),
    },
    hosts=HostFormat(by_commas, first_word, bare_name, bare_name),
    binding_words=_BINDING,
    rank_variable="PALS_RANKID",
    emit=_emit,
    emit_uneven=_emit_uneven,
)
