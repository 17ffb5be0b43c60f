"""HPE's PALS ``mpiexec``: long options after one dash or two; ``--env`` takes NAME=VALUE or NAME VALUE.

Source: mpiexec(1) of PALS as HPE's Cray CLI prints it, and the user guides of ALCF; not run here.
"""

from mpiric.launchers._banner import version_by
from mpiric.launchers._dialect import Dialect, Grammar, Option, flags, valued
from mpiric.launchers._placement import by_word
from mpiric.model.count import count_of
from mpiric.model.job import Meaning
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

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


def _threads(_situation: Situation, value: str) -> Spelling | None:
    return Spelling(options=(("--depth", value), ("--cpu-bind", "depth"))) if count_of(value) else None


DIALECT = Dialect(
    name="pals",
    launcher_names=("mpiexec",),
    grammar=Grammar(equals=True, long_after_one_dash=True, attached_values=True, pair_in_one_word=True),
    options=_OPTIONS,
    recognise_version=version_by(r"(?im)(?:PALS\D+|^mpiexec version )(\d\S+)"),
    write={
        Meaning.RANKS: lambda values: ("-n", *values),
        Meaning.RANKS_PER_NODE: lambda values: ("--ppn", *values),
        Meaning.THREADS_PER_RANK: lambda values: ("--depth", *values),
        Meaning.HOSTS: lambda values: ("--hosts", *values),
        Meaning.HOSTFILE: lambda values: ("--hostfile", *values),
        Meaning.ENVIRONMENT: lambda values: ("--env", "=".join(values)) if len(values) == 2 else (),
        Meaning.ENVIRONMENT_LIMIT: lambda values: (
            (f"--env{values[0]}",) if values[0] in {"all", "none"} else ("--envlist", *values)
        ),
        Meaning.WORKING_DIRECTORY: lambda values: ("--wdir", *values),
        Meaning.BINDING: lambda values: ("--cpu-bind", *values),
        Meaning.MEMORY_BINDING: lambda values: ("--mem-bind", *values),
        Meaning.PROCESS_MANAGER: lambda values: ("--pmi", *values),
    },
    spellings={"binding": by_word(_BINDING, lambda word: ("--cpu-bind", word)), "threads-per-rank": _threads},
    host_file_format="lines",
    binding_words=_BINDING,
)
