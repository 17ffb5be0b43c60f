"""Slurm's ``srun``: getopt_long, so ``-n4``, ``-lu``, ``--ntasks=4`` and unambiguous beginnings all hold.

Source: src/common/slurm_opt.c and src/srun/libsrun/opt.c of Slurm 22.05; srun(1).
"""

from mpiric.launchers import _export
from mpiric.launchers._banner import version_by
from mpiric.launchers._dialect import Dialect, Grammar, Option, VariableList, flags, valued
from mpiric.launchers._placement import by_word
from mpiric.launchers._route import route_speller
from mpiric.launchers._words import words
from mpiric.model.count import count_of
from mpiric.model.job import Meaning
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

_BINDING = {"none": "none", "core": "cores", "hwthread": "threads", "numa": "ldoms", "package": "sockets"}
_MAPPING = {"compact": "block:block", "spread-package": "block:cyclic", "node-round-robin": "cyclic"}

_MAY_BE_ATTACHED = words("bcast compress nice x11 overlap propagate resv-ports send-libs exclusive")
_PER_NODE = ("ntasks-per-node", "tasks-per-node")

_OPTIONS = (
    Option(("ntasks", "n"), 1, Meaning.RANKS, variable="SLURM_NTASKS"),
    Option(
        ("ntasks-per-node", "tasks-per-node"), 1, Meaning.RANKS_PER_NODE, variable="SLURM_NTASKS_PER_NODE"
    ),
    Option(("nodes", "N"), 1, Meaning.NODES, variable="SLURM_NNODES"),
    Option(("cpus-per-task", "c"), 1, Meaning.THREADS_PER_RANK, variable="SLURM_CPUS_PER_TASK"),
    Option(("nodelist", "w"), 1, Meaning.HOSTS, variable="SLURM_NODELIST"),
    Option(("nodefile", "F"), 1, Meaning.HOSTFILE),
    Option(("export",), 1, Meaning.ENVIRONMENT_LIMIT, variable="SLURM_EXPORT_ENV"),
    Option(("chdir", "D"), 1, Meaning.WORKING_DIRECTORY, variable="SLURM_WORKING_DIR"),
    Option(("cpu-bind", "cpu_bind"), 1, Meaning.BINDING, variable="SLURM_CPU_BIND"),
    Option(("distribution", "m"), 1, Meaning.MAPPING, variable="SLURM_DISTRIBUTION"),
    Option(("mem-bind",), 1, Meaning.MEMORY_BINDING, variable="SLURM_MEM_BIND"),
    Option(("mpi",), 1, Meaning.PROCESS_MANAGER, variable="SLURM_MPI_TYPE"),
    Option(("overcommit", "O"), 0, Meaning.OVERSUBSCRIBE, variable="SLURM_OVERCOMMIT"),
    Option(("input", "i"), 1, Meaning.STDIN),
    Option(("multi-prog",), 0, Meaning.PROGRAM_FILE),
    *(Option((name,), 1, attached_only=True) for name in ("bcast", "compress", "nice", "x11", "overlap")),
    *(
        Option((name,), 1, attached_only=True)
        for name in ("propagate", "resv-ports", "send-libs", "exclusive")
    ),
    Option(("immediate", "I"), 1, attached_only=True),
    Option(("kill-on-bad-exit", "K"), 1, attached_only=True),
    Option(("no-kill", "k"), 1, attached_only=True),
    *flags("contiguous debugger-test disable-status X exact help h hold H interactive label l"),
    *flags("no-allocate Z oversubscribe s preserve-env E pty quiet Q quit-on-interrupt reboot spread-job"),
    *flags("test-only unbuffered u use-min-nodes usage verbose v version V whole"),
    *valued("accel-bind account A acctg-freq bbf bb bcast-exclude begin b cluster-constraint clusters M"),
    *valued("cluster comment constraint C container context core-spec S cores-per-socket cpu-freq"),
    *valued("cpus-per-gpu deadline delay-boot dependency d epilog error e exclude x extra-node-info B gid"),
    *valued("gpu-bind gpu-freq gpus G gpus-per-node gpus-per-socket gpus-per-task gres gres-flags hint"),
    *valued("jobid job-name J licenses L mail-type mail-user threads T mcs-label mem mem-per-cpu"),
    *valued("mem-per-gpu mincpus msg-timeout network ntasks-per-core ntasks-per-socket ntasks-per-tres"),
    *valued("ntasks-per-gpu open-mode output o pack-group het-group partition p power prefer priority"),
    *valued("profile prolog qos q relative r reservation signal slurmd-debug sockets-per-node switches"),
    *valued("task-epilog task-prolog thread-spec threads-per-core time t time-min tmp uid wait W wckey"),
)


def _threads(_situation: Situation, value: str) -> Spelling | None:
    """Slurm counts hardware threads where a core has several."""
    return Spelling(options=((f"--cpus-per-task={value}",),)) if count_of(value) else None


DIALECT = Dialect(
    name="srun",
    launcher_names=("srun",),
    grammar=Grammar(equals=True, attached_values=True, flags_together=True, abbreviations=True),
    options=_OPTIONS,
    recognise_version=version_by(r"^slurm(?:-wlm)? (\d\S+)"),
    write={
        Meaning.RANKS: lambda values: (f"--ntasks={values[0]}",),
        Meaning.RANKS_PER_NODE: lambda values: (f"--ntasks-per-node={values[0]}",),
        Meaning.NODES: lambda values: (f"--nodes={values[0]}",),
        Meaning.THREADS_PER_RANK: lambda values: (f"--cpus-per-task={values[0]}",),
        Meaning.HOSTS: lambda values: (f"--nodelist={values[0]}",),
        Meaning.ENVIRONMENT_LIMIT: lambda values: (f"--export={','.join(values)}",),
        Meaning.WORKING_DIRECTORY: lambda values: (f"--chdir={values[0]}",),
        Meaning.BINDING: lambda values: (f"--cpu-bind={values[0]}",),
        Meaning.MAPPING: lambda values: (f"--distribution={values[0]}",),
        Meaning.MEMORY_BINDING: lambda values: (f"--mem-bind={values[0]}",),
        Meaning.PROCESS_MANAGER: lambda values: (f"--mpi={values[0]}",),
        Meaning.OVERSUBSCRIBE: lambda _values: ("--overcommit",),
    },
    spellings={
        "binding": by_word(_BINDING, lambda word: (f"--cpu-bind={word}",)),
        "mapping": by_word(_MAPPING, lambda word: (f"--distribution={word}",)),
        "threads-per-rank": _threads,
        "launch-route": route_speller,
    },
    neutral=True,
    host_file_format="slurm",
    every_seat="arbitrary",
    facets=_export.facets,
    variable_list=VariableList(_export.listed, _export.unlist, _export.enlist),
    binding_words=_BINDING,
    mapping_words=_MAPPING,
)
