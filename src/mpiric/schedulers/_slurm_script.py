"""The lines of a Slurm job script, each with its reason. Pure.

Options: sbatch(1) and srun(1). Since 22.05 srun does not take over ``--cpus-per-task`` of the job ("NOTE"
under that option in srun(1)), so it is given twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from re import IGNORECASE, fullmatch
from shlex import quote

from mpiric.model.batch import BatchLayout, NodeShape, ScriptLine
from mpiric.model.errors import MpiricError
from mpiric.schedulers._script_languages import Language, language_of

_TIME = r"\d+(:\d+){0,2}|\d+-\d+(:\d+){0,2}|unlimited|infinite"  # --time in sbatch(1)
_COLUMN = 58  # where the reasons begin


@dataclass(frozen=True)
class Wording:
    """What a site or user wants said in every script."""

    shebang: str = "#!/bin/bash"
    job_name: str = ""
    time: str = ""
    account: str = ""
    partition: str = ""
    directives: tuple[str, ...] = ()  # further ones: "--qos=normal"
    setup: tuple[str, ...] = ()  # lines before the launch: "module load …"
    environment: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)  # of variables
    unset: tuple[str, ...] = ()
    launch_reason: str = ""


def srun_words(layout: BatchLayout, shape: NodeShape, mpi: str = "") -> tuple[str, ...]:
    """The launcher's words that keep each rank on cores of its own."""
    words = ["srun"]
    if mpi:
        words.append(f"--mpi={mpi}")
    words.append(f"--cpus-per-task={layout.cores_per_rank}")
    # srun refuses --hint beside --cpu-bind; this pair is what --hint=nomultithread stands for.
    smt = shape.threads_per_core > 1
    words += ["--threads-per-core=1", "--cpu-bind=threads"] if smt else ["--cpu-bind=cores"]
    return (*words, "--distribution=block:block")


def script_lines(
    layout: BatchLayout, shape: NodeShape, wording: Wording, launch: Sequence[str]
) -> tuple[ScriptLine, ...]:
    """The whole script. Raises MpiricError for no time, or shell lines in a script of another language."""
    if wording.time and not fullmatch(_TIME, wording.time, IGNORECASE):
        raise MpiricError(
            f"Slurm reads no time in {wording.time!r}",
            hint="30 are minutes; or 2:00:00, or 1-12 for days-hours",
        )
    language = language_of(wording.shebang)
    own_srun = launch[0].rsplit("/", 1)[-1] == "srun" and not any("cpus-per-task" in word for word in launch)
    if wording.setup and not language.takes_shell_lines:
        raise MpiricError(
            f"lines of a shell ({wording.setup[0]!r}) cannot stand in a script for {wording.shebang}",
            hint="load modules before you submit, or take a shell's first line",
        )
    return (
        ScriptLine(wording.shebang),
        ScriptLine(f"# {layout.kind}: {_sizes(layout, shape)}"),
        *_directives(layout, shape, wording),
        ScriptLine(""),
        *(ScriptLine(line) for line in (*language.begin, *wording.setup)),
        *_variables(layout, wording, language, own_srun=own_srun),
        ScriptLine(""),
        ScriptLine(language.launch(launch), wording.launch_reason),
    )


def text_of(lines: Sequence[ScriptLine]) -> str:
    """The file: reasons beside the directives, above everything else."""
    parts = []
    for line in lines:
        beside = line.text.startswith("#SBATCH") and len(line.text) < _COLUMN
        if not line.why:
            parts.append(line.text)
        elif beside:
            parts.append(f"{line.text:<{_COLUMN}}# {line.why}")
        else:
            parts += [f"# {line.why}", line.text]
    return "\n".join(parts) + "\n"


def _sizes(layout: BatchLayout, shape: NodeShape) -> str:
    threads = f" × {layout.threads_per_rank} threads" if layout.threads_per_rank > 1 else ""
    cores = layout.ranks_per_node * layout.threads_per_rank
    return (
        f"{layout.ranks} ranks{threads} on {layout.nodes} node{'s' if layout.nodes > 1 else ''}, "
        f"{cores} of {shape.cores} cores of each at work"
    )


def _directives(layout: BatchLayout, shape: NodeShape, wording: Wording) -> list[ScriptLine]:
    lines = [
        _directive(f"--job-name={quote(wording.job_name)}", "what squeue shows")
        if wording.job_name
        else None,
        _directive(f"--account={wording.account}", "who pays") if wording.account else None,
        _directive(f"--partition={wording.partition}", "which nodes") if wording.partition else None,
        _directive(f"--time={wording.time}", "the job is ended after this") if wording.time else None,
        _directive(f"--nodes={layout.nodes}", ""),
        _directive(f"--ntasks={layout.ranks}", "MPI ranks"),
        _directive(f"--ntasks-per-node={layout.ranks_per_node}", _why_per_node(layout, shape)),
        _directive(f"--cpus-per-task={layout.cores_per_rank}", _why_cores(layout)),
        _directive("--hint=nomultithread", "one hardware thread of each core")
        if shape.threads_per_core > 1
        else None,
        _directive("--exclusive", "nobody else on these nodes: memory, caches and network are this job's"),
        *(_directive(text, "") for text in wording.directives),
    ]
    return [line for line in lines if line is not None]


def _directive(text: str, why: str) -> ScriptLine:
    return ScriptLine(f"#SBATCH {text}", why)


def _why_per_node(layout: BatchLayout, shape: NodeShape) -> str:
    if layout.cores_per_rank > layout.threads_per_rank:
        return f"half of the {shape.cores} cores saturate the memory"
    used = layout.ranks_per_node * layout.cores_per_rank
    return f"they take {used} of the {shape.cores} cores of a node"


def _why_cores(layout: BatchLayout) -> str:
    if layout.cores_per_rank > layout.threads_per_rank:
        return "neighbouring cores for each rank; every second one works"
    return (
        "cores for each rank, one for each of its threads"
        if layout.threads_per_rank > 1
        else "a core for each rank"
    )


def _variables(
    layout: BatchLayout, wording: Wording, language: Language, *, own_srun: bool
) -> list[ScriptLine]:
    own = {"OMP_NUM_THREADS": (str(layout.threads_per_rank), "threads of each rank, in libraries too")}
    if own_srun:
        own["SRUN_CPUS_PER_TASK"] = (str(layout.cores_per_rank), "srun does not take it over from the job")
    if layout.threads_per_rank > 1:
        spread = layout.cores_per_rank > layout.threads_per_rank
        own["OMP_PLACES"] = ("cores", "a thread stays on its core")
        own["OMP_PROC_BIND"] = (
            ("spread", "every second core") if spread else ("close", "threads on neighbouring cores")
        )
    given = {
        name: (value, wording.reasons.get(name, "")) for name, value in sorted(wording.environment.items())
    }
    exports = [
        ScriptLine(language.export(name, value), why) for name, (value, why) in {**own, **given}.items()
    ]
    unset = [ScriptLine(language.unset(name), wording.reasons.get(name, "")) for name in wording.unset]
    return [*unset, *exports]
