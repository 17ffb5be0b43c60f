"""The Slurm job that runs a verb of mpiric: its script, and what it asks of Slurm. Pure.

The script may be begun again at any time, by Slurm (a requeue) or by another submission of it: the verb
goes on from its own files, and a status file says that it has come to its end. Options: sbatch(1).
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from mpiric.model.job import Job, Meaning

SCRIPT, INPUT, OUTPUT, LOG, STATUS = "job.sh", "job.in", "job.out", "job.log", "job.status"
NAME_VARIABLE = "MPIRIC_SUBMISSION"  # set in the job: which submission it belongs to
ROUNDS = "rounds"  # a directory for each array that a submission spreads its runs over
GOES_ON = 75  # exit status of a job that has done its part of something (EX_TEMPFAIL of sysexits.h)
_VERB_WORDS = 4  # python -m mpiric VERB
_RESOURCES = {
    Meaning.NODES: "--nodes",
    Meaning.RANKS: "--ntasks",
    Meaning.RANKS_PER_NODE: "--ntasks-per-node",
    Meaning.THREADS_PER_RANK: "--cpus-per-task",
}
_SHORT = {"-N": "--nodes", "-n": "--ntasks", "-c": "--cpus-per-task", "-t": "--time", "-p": "--partition"}
_SHORT |= {"-A": "--account", "-J": "--job-name"}


@dataclass(frozen=True)
class Submission:
    """One errand of mpiric's in a directory of its own, whatever number of jobs it takes."""

    directory: PurePath  # of script, output, log and status
    words: tuple[str, ...]  # that run the verb
    working_directory: str
    stdin: str = ""
    options: tuple[str, ...] = ()  # of sbatch

    @property
    def name(self) -> str:
        """Name of its jobs, which no other submission has: Slurm runs one job of a name at a time."""
        return name_of(self.directory)


def name_of(directory: PurePath) -> str:
    """Of the jobs whose files are there."""
    return f"mpiric-{directory.name}"


def submission_script(submission: Submission) -> str:
    """For /bin/sh; the environment is that of the submission (``--export=ALL``)."""
    place = submission.directory
    options = (
        f"--job-name={submission.name}",
        f"--chdir={submission.working_directory}",
        f"--output={place / LOG}",
        "--open-mode=append",
        "--requeue",
        "--dependency=singleton",
        "--export=ALL",
        *submission.options,
    )
    status = shlex.quote(str(place / STATUS))
    stdin = shlex.quote(submission.stdin or "/dev/null")
    lines = [
        "#!/bin/sh",
        *(f"#SBATCH {_directive(option)}" for option in options),
        f"[ -e {status} ] && exit 0",
        "trap 'exit 143' TERM",
        f"export {NAME_VARIABLE}={shlex.quote(submission.name)}",
        f"{shlex.join(submission.words)} < {stdin} > {shlex.quote(str(place / OUTPUT))}",
        "code=$?",
        'case $code in 137|143) exit "$code" ;; esac',  # killed or ended by Slurm: not at its end
        f"echo $code > {status}.new && mv {status}.new {status}",
        "exit $code",
    ]
    return "\n".join(lines) + "\n"


def round_script(submission: Submission) -> str:
    """For the elements of an array and for the job after it; its argument is the number of the round.

    A status other than ``GOES_ON`` is that of the verb; who ends with it gives the verb's output too.
    """
    place = submission.directory
    options = (
        f"--chdir={submission.working_directory}",
        "--open-mode=append",
        "--requeue",
        "--export=ALL",
        *submission.options,
    )
    status, output = shlex.quote(str(place / STATUS)), shlex.quote(str(place / OUTPUT))
    own = f'{shlex.quote(str(place / ROUNDS))}/"$1/${{SLURM_ARRAY_TASK_ID-after}}.out"'
    stdin = shlex.quote(submission.stdin or "/dev/null")
    verb, rest = submission.words[:_VERB_WORDS], submission.words[_VERB_WORDS:]
    lines = [
        "#!/bin/sh",
        *(f"#SBATCH {_directive(option)}" for option in options),
        f"[ -e {status} ] && exit 0",
        "trap 'exit 143' TERM",
        # The job after an array may take over what a dead element of it held: its name begins theirs.
        'element="${SLURM_ARRAY_TASK_ID+-$1-$SLURM_ARRAY_TASK_ID.}"',
        f'export {NAME_VARIABLE}={shlex.quote(submission.name)}"$element"',
        f'mkdir -p {shlex.quote(str(place / ROUNDS))}/"$1" || exit 143',
        f'{shlex.join(verb)} --round "$1" {shlex.join(rest)} < {stdin} > {own}',
        "code=$?",
        f'case $code in {GOES_ON}) exit 0 ;; 130|137|143) exit "$code" ;; esac',
        '[ "$code" -ne 0 ] && [ -n "$element" ] && exit "$code"',  # one element's failure is not the end
        f"mv {own} {output}",
        f"echo $code > {status}.new && mv {status}.new {status}",
        "exit $code",
    ]
    return "\n".join(lines) + "\n"


def array_options(directory: PurePath, number: int, count: int, at_once: int) -> tuple[str, ...]:
    """Of sbatch, for a round's array of ``count`` elements."""
    throttle = f"%{at_once}" if 0 < at_once < count else ""
    return (
        f"--job-name={name_of(directory)}-{number}",
        f"--array=0-{count - 1}{throttle}",
        f"--output={directory / ROUNDS / str(number)}/%a.log",
    )


def after_options(directory: PurePath, array: str) -> tuple[str, ...]:
    """Of sbatch, for the job that goes on when an array (or none, "") is over, however its elements ended."""
    return (
        f"--job-name={name_of(directory)}",
        f"--dependency=singleton{f',afterany:{array}' if array else ''}",
        f"--output={directory / LOG}",
    )


def resources_of(job: Job, given: Sequence[str], minutes: int) -> tuple[str, ...]:
    """Options of sbatch for a launch line: as many nodes and ranks as it says, the nodes for it alone.

    ``given`` are the user's or site's own, which win; ``minutes`` is the time limit where they name none.
    """
    said = names_of(given)
    wanted = []
    for meaning, option in _RESOURCES.items():
        counts = [found.values[0] for one in job.segments if (found := one.first(meaning)) is not None]
        if len(counts) == len(job.segments) and all(count.isdigit() for count in counts):
            count = sum(map(int, counts)) if meaning is Meaning.RANKS else max(map(int, counts))
            wanted.append(f"{option}={count}")
    hosts = job.segments[0].first(Meaning.HOSTS)
    if hosts is not None and job.dialect == "srun":
        wanted.append(f"--nodelist={hosts.values[0]}")
    wanted += ["--exclusive", f"--time={minutes}"]
    return (*(option for option in wanted if option.partition("=")[0] not in said), *given)


def names_of(options: Sequence[str]) -> set[str]:
    """Long names of what was given: ``-N4``, ``-N 4`` and ``--nodes=4`` are all ``--nodes``."""
    heads = (re.match(r"--[\w-]+|-\w", option) for option in options)
    return {_SHORT.get(head[0], head[0]) for head in heads if head}


def _directive(option: str) -> str:
    """Slurm splits a directive at blanks, as a shell does, and knows quotes."""
    name, equals, value = option.partition("=")
    return f"{name}={shlex.quote(value)}" if equals else option
