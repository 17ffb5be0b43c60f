"""Slurm's ``srun``: getopt_long, so ``-n4``, ``-lu``, ``--ntasks=4`` and unambiguous prefixes are valid.

A plan becomes a mask for each task of a node, in a step with all CPUs of the masks. Slurm 22.05 refuses a
mask that exceeds the step; earlier versions cut it, even to core 0. With ``-c``, a step gets that many CPUs
per task, from the first core on, in full cores. So ``-c`` divides the node in multiples of a core; if the
plan needs the remainder, a step without ``-c`` uses the complete node, if the job has it. If the last node
has fewer ranks, Slurm balances the nodes in spite of ``--ntasks-per-node``, except with a plane distribution.
``-c`` counts hardware threads if Slurm knows them; if cores have different numbers, it knows only the first
one of each. Sources: src/common/slurm_opt.c and src/srun/libsrun/opt.c of Slurm 22.05; srun(1).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from re import findall

from mpiric.launchers._dialect import (
    Dialect,
    Facet,
    Grammar,
    HostFormat,
    Option,
    VariableList,
    attached,
    bare_name,
    flags,
    of_launcher,
    valued,
)
from mpiric.launchers._emission import bound_inside, hosts_with_ranks, openmp_variables, ranks_in_all
from mpiric.launchers._spellers import by_word, route_speller
from mpiric.model.amount import count_of, version_by
from mpiric.model.batch import hosts_of
from mpiric.model.job import HostSlots, Job, LaunchOption, Meaning, Segment, Spelling
from mpiric.model.machine import pu_mask
from mpiric.model.placement import Emission, Plan
from mpiric.model.situation import Situation

_EXPORT_NONE = ("NONE", "NIL")


def _export_facets(option: LaunchOption) -> tuple[Facet, ...]:
    """Return the meanings of ``--export``: ``ALL,A=1`` passes all variables on and sets A."""
    if option.meaning is not Meaning.ENVIRONMENT_LIMIT:
        return ((option.meaning, option.values),)
    items = _export_items(option.values[0])
    if "ALL" not in items:
        names = ",".join(item.partition("=")[0] for item in items)
        return ((Meaning.ENVIRONMENT_LIMIT, ("none" if names in _EXPORT_NONE else names,)),)
    sets = (item.partition("=") for item in items if "=" in item)
    return tuple((Meaning.ENVIRONMENT, (name, value)) for name, _, value in sets)


def _exported(job: Job) -> Mapping[str, str]:
    """Return the variables that the list sets for the first program."""
    items = _export_items(_export_value(job, job.segments[0]))
    return {name: value for name, equals, value in (item.partition("=") for item in items) if equals}


def _without_export(job: Job, name: str) -> Job:
    """Return the job without the setting of one variable; a bare name only passes it on and stays."""
    if all(segment.first(Meaning.ENVIRONMENT_LIMIT) is None for segment in job.segments):
        return job
    return _changed_exports(
        job, lambda items: tuple(item for item in items if not item.startswith(f"{name}="))
    )


def _with_exports(job: Job, variables: Mapping[str, str | None]) -> Job:
    """Return the job with more variables than the list, or else ``SLURM_EXPORT_ENV``, already names.

    A variable without a value is passed on from srun's environment. Slurm treats quotes as part of the value,
    so a value with a comma can only be passed on.
    """
    more = (name if value is None else f"{name}={value}" for name, value in sorted(variables.items()))
    added = tuple(more)
    return _changed_exports(
        job, lambda items: (*(i for i in items if i not in (*_EXPORT_NONE, *added)), *added)
    )


def _changed_exports(job: Job, change: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Job:
    def changed(segment: Segment) -> Segment:
        current = segment.first(Meaning.ENVIRONMENT_LIMIT)
        text = ",".join(change(_export_items(_export_value(job, segment))))
        option = LaunchOption((f"--export={text or 'NONE'}",), Meaning.ENVIRONMENT_LIMIT, (text or "NONE",))
        remaining = tuple(other for other in segment.options if other is not current)
        return replace(segment, options=(option, *remaining))

    return replace(job, segments=tuple(changed(segment) for segment in job.segments))


def _export_value(job: Job, segment: Segment) -> str:
    option = segment.first(Meaning.ENVIRONMENT_LIMIT)
    return option.values[0] if option is not None else job.environment.get("SLURM_EXPORT_ENV", "ALL")


def _export_items(text: str) -> tuple[str, ...]:
    """Split at commas outside quotes."""
    return tuple(findall(r"(?:[^,'\"]|'[^']*'|\"[^\"]*\")+", text))


_BINDING = {"none": "none", "core": "cores", "hwthread": "threads", "numa": "ldoms", "package": "sockets"}
_MAPPING = {"compact": "block:block", "spread-package": "block:cyclic", "node-round-robin": "cyclic"}

_MAY_BE_ATTACHED = "bcast x11 propagate resv-ports send-libs"
_STEP = "compress nice overlap exclusive immediate I kill-on-bad-exit K no-kill k"  # about the step itself

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
    Option(("label", "l"), 0, Meaning.LABEL),
    *of_launcher("quiet Q verbose v unbuffered u exact disable-status X quit-on-interrupt"),
    *of_launcher(
        "account A acctg-freq comment job-name J mail-type mail-user mem mem-per-cpu network", arity=1
    ),
    *of_launcher("partition p qos q reservation slurmd-debug time t time-min wait W wckey", arity=1),
    *(Option((name,), 1, attached_only=True) for name in _MAY_BE_ATTACHED.split()),
    *(Option((name,), 1, Meaning.LAUNCHER_ONLY, attached_only=True) for name in _STEP.split()),
    *flags("contiguous debugger-test help h hold H interactive"),
    *flags("no-allocate Z oversubscribe s preserve-env E pty reboot spread-job"),
    *flags("test-only use-min-nodes usage version V whole"),
    *valued("accel-bind bbf bb bcast-exclude begin b cluster-constraint clusters M"),
    *valued("cluster constraint C container context core-spec S cores-per-socket cpu-freq"),
    *valued("cpus-per-gpu deadline delay-boot dependency d epilog error e exclude x extra-node-info B gid"),
    *valued("gpu-bind gpu-freq gpus G gpus-per-node gpus-per-socket gpus-per-task gres gres-flags hint"),
    *valued("jobid licenses L threads T mcs-label"),
    *valued("mem-per-gpu mincpus msg-timeout ntasks-per-core ntasks-per-socket ntasks-per-tres"),
    *valued("ntasks-per-gpu open-mode output o pack-group het-group power prefer priority"),
    *valued("profile prolog relative r signal sockets-per-node switches"),
    *valued("task-epilog task-prolog thread-spec threads-per-core tmp uid"),
)


def _ranges(text: str) -> Iterator[HostSlots]:
    """Parse ``n[1-4]`` of ``--nodelist`` and of lines of ``--nodefile``."""
    return (HostSlots(name) for name in hosts_of(text.replace(" ", "")))


def _threads(_situation: Situation, value: str) -> Spelling | None:
    """Set the CPUs per task; Slurm counts hardware threads if a core has several."""
    return Spelling(options=((f"--cpus-per-task={value}",),)) if count_of(value) else None


_HOSTS = "srun.hostfile"  # one line per rank


def _emit(plan: Plan) -> Emission:
    """Return the options of ``srun``."""
    per_node, cores = plan.ranks_per_node, plan.topology.cores
    threads_per_core = min(len(core.pus) for core in cores)
    even = all(len(core.pus) == threads_per_core for core in cores)
    if not even:
        threads_per_core = 1
    known_pus = {pu for core in cores for pu in core.pus[:threads_per_core]}
    seats = [tuple(pu for pu in seat.pus if pu in known_pus) or seat.pus for seat in plan.seats]
    cpus_per_task = max(1, len(cores) * threads_per_core // per_node // threads_per_core * threads_per_core)
    shared = {
        pu
        for core in cores[: -(-cpus_per_task * per_node // threads_per_core)]
        for pu in core.pus[:threads_per_core]
    }
    ragged = bool(plan.request.ranks % per_node)
    needs_full_node = ragged or any(pu not in shared for seat in seats for pu in seat)
    argv = [
        "srun",
        f"--nodes={plan.nodes}",
        f"--ntasks={plan.request.ranks}",
        *(() if ragged else (f"--ntasks-per-node={per_node}",)),
        *(() if needs_full_node else (f"--cpus-per-task={cpus_per_task}", "--exclusive")),
        f"--distribution={f'plane={per_node}' if ragged else 'block:block'}",
        f"--cpu-bind=mask_cpu:{','.join(pu_mask(seat) for seat in seats)}",
    ]
    if len(plan.topology.numa_nodes) > 1:
        argv.append("--mem-bind=local")
    if plan.hosts:
        argv.append(f"--nodelist={','.join(plan.hosts)}")
    if plan.seats[0].gpu >= 0 and not plan.has_tiles:
        argv += [
            f"--gpus-per-node={len(plan.gpus)}",
            "--gpu-bind=map_gpu:" + ",".join(str(seat.gpu) for seat in plan.seats),
        ]
    notes = (
        "within a job with exclusive nodes (sbatch --exclusive)" if needs_full_node else "",
        "" if even else "Slurm only uses one hardware thread of each core",
    )
    return Emission(tuple(argv), openmp_variables(plan), exact=even, note="; ".join(filter(None, notes)))


def _emit_uneven(plans: Sequence[Plan]) -> Emission:
    """Return a launch with ``SLURM_HOSTFILE``; a list of masks would start again on each host."""
    hosts = hosts_with_ranks(plans)
    argv = (
        "srun",
        f"--nodes={len(hosts)}",
        f"--ntasks={ranks_in_all(plans)}",
        f"--nodelist={','.join(host for host, _ in hosts)}",
        "--distribution=arbitrary",
        "--cpu-bind=none",
    )
    inside = bound_inside(plans, argv)
    return replace(
        inside,
        env={"SLURM_HOSTFILE": _HOSTS, **inside.env},
        files={**inside.files, _HOSTS: "".join(f"{host}\n" * count for host, count in hosts)},
        note=f"within a job with exclusive nodes (sbatch --exclusive); {inside.note}",
    )


DIALECT = Dialect(
    name="srun",
    launcher_names=("srun",),
    grammar=Grammar(equals=True, attached_values=True, flags_together=True, abbreviations=True),
    options=_OPTIONS,
    recognise_version=version_by(r"^slurm(?:-wlm)? (\d\S+)"),
    write={
        **attached(
            {
                Meaning.RANKS: "--ntasks",
                Meaning.RANKS_PER_NODE: "--ntasks-per-node",
                Meaning.NODES: "--nodes",
                Meaning.THREADS_PER_RANK: "--cpus-per-task",
                Meaning.HOSTS: "--nodelist",
                Meaning.WORKING_DIRECTORY: "--chdir",
                Meaning.BINDING: "--cpu-bind",
                Meaning.MAPPING: "--distribution",
                Meaning.MEMORY_BINDING: "--mem-bind",
                Meaning.PROCESS_MANAGER: "--mpi",
            }
        ),
        Meaning.ENVIRONMENT_LIMIT: lambda values: (f"--export={','.join(values)}",),
        Meaning.OVERSUBSCRIBE: lambda _values: ("--overcommit",),
        Meaning.LABEL: lambda _values: ("--label",),
    },
    spellings={
        "binding": by_word(_BINDING, lambda word: (f"--cpu-bind={word}",)),
        "mapping": by_word(_MAPPING, lambda word: (f"--distribution={word}",)),
        "threads-per-rank": _threads,
        "launch-route": route_speller,
        "nodes": lambda _situation, value: Spelling(options=(("-N", value),)),
    },
    neutral=True,
    fills_every_host=True,
    has_scheduler_names=True,
    hosts=HostFormat(_ranges, _ranges, bare_name, bare_name),
    every_seat="arbitrary",
    facets=_export_facets,
    variable_list=VariableList(_exported, _without_export, _with_exports),
    binding_words=_BINDING,
    mapping_words=_MAPPING,
    rank_variable="SLURM_PROCID",
    emit=_emit,
    emit_uneven=_emit_uneven,
)
