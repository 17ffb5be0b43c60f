"""Job that runs a command of mpiric: its script and requested resources. Pure functions.

The script may be begun again at any time, by the scheduler (a requeue) or by another submission of it: the
verb goes on from its own files, and a status file says that it has come to its end.
"""

from collections.abc import Mapping, Sequence
from pathlib import PurePath

from mpiric.model.amount import number_of
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import ExitCode
from mpiric.model.job import Job, Meaning
from mpiric.model.quoting import directive, sh_command, sh_word
from mpiric.schedulers._batch import BatchScheduler
from mpiric.schedulers._scheduler import ELEMENT_VARIABLE, JobRequest, SubmitSettings

SCRIPT, INPUT, OUTPUT, LOG, STATUS = "job.sh", "job.in", "job.out", "job.log", "job.status"
NAME_VARIABLE = "MPIRIC_SUBMISSION"  # variable in a job: name of its submission
_ROUND_VARIABLE = "MPIRIC_ROUND"  # variable in a job: round of its array
JOBS = "jobs"  # file with the ids of the jobs of a submission, one a line
ROUNDS = "rounds"  # directory with a subdirectory for each array of a submission
_VERB_ARGUMENTS = 3  # python mpiric/__main__.py VERB
# By a signal of the scheduler's (HUP, INT, KILL, USR2, TERM): not at the verb's end.
_ENDED_BY_SIGNAL = "129|130|137|140|143"


@dataclass(frozen=True)
class Submission:
    """Task of mpiric in its own directory, with one or more jobs."""

    directory: PurePath  # directory of script, output, log and status
    arguments: tuple[str, ...]  # command line of mpiric
    working_directory: str
    stdin: str = ""
    options: tuple[str, ...] = ()  # options of the scheduler

    @property
    def name(self) -> str:
        """Return the name of its jobs, which is unique."""
        return name_of(self.directory)


def name_of(directory: PurePath) -> str:
    """Return the name of the jobs whose files are in a directory."""
    return f"mpiric-{directory.name}"


def submission_script(scheduler: BatchScheduler, submission: Submission) -> str:
    """Return the script of a submission with a single job, for /bin/sh."""
    verb = f"{sh_command(submission.arguments)} < {_stdin(submission)} > {_quoted(submission, OUTPUT)}"
    lines = [
        f"export {NAME_VARIABLE}={sh_word(submission.name)}",
        verb,
        "code=$?",
        f'case $code in {_ENDED_BY_SIGNAL}) exit "$code" ;; esac',
    ]
    return _script(scheduler, submission, lines)


def round_script(scheduler: BatchScheduler, submission: Submission) -> str:
    """Return the script of the elements of an array and of the job after it.

    A status other than ``ExitCode.CONTINUES`` is the status of the command; a job with it also writes the
    output.
    """
    rounds = _quoted(submission, ROUNDS)
    output_file = f'{rounds}/"${_ROUND_VARIABLE}/${{element:-after}}.out"'
    verb, other_arguments = submission.arguments[:_VERB_ARGUMENTS], submission.arguments[_VERB_ARGUMENTS:]
    lines = [
        # The name of the job after an array is a prefix of the elements' names: it may take over their locks.
        f'export {NAME_VARIABLE}={sh_word(submission.name)}"${{element:+-${_ROUND_VARIABLE}-$element.}}"',
        f'mkdir -p {rounds}/"${_ROUND_VARIABLE}" || exit 143',
        f'{sh_command(verb)} --round "${_ROUND_VARIABLE}" {sh_command(other_arguments)} '
        f"< {_stdin(submission)} > {output_file}",
        "code=$?",
        f'case $code in {ExitCode.CONTINUES:d}) exit 0 ;; {_ENDED_BY_SIGNAL}) exit "$code" ;; esac',
        '[ "$code" -ne 0 ] && [ -n "$element" ] && exit "$code"',  # other elements continue if one fails
        f"mv {output_file} {_quoted(submission, OUTPUT)}",
    ]
    return _script(scheduler, submission, lines)


def _script(scheduler: BatchScheduler, submission: Submission, verb: Sequence[str]) -> str:
    status, log, rounds = (_quoted(submission, name) for name in (STATUS, LOG, ROUNDS))
    options = (*scheduler.fixed_options, *submission.options)
    lines = [
        "#!/bin/sh",
        *(directive(scheduler.directive, option) for option in options),
        f"[ -e {status} ] && exit 0",
        "trap 'exit 143' HUP INT TERM USR2",
        f"element={scheduler.element_variable}",
        f"export {ELEMENT_VARIABLE}=$element",
        # Some schedulers copy the output of a job only at its end, or overwrite the output of an earlier job.
        f'if [ -n "$element" ]; then exec >> {rounds}/"${_ROUND_VARIABLE}/$element.log" 2>&1; '
        f"else exec >> {log} 2>&1; fi",
        f"cd {sh_word(submission.working_directory)} || exit 143",
        *scheduler.shell_lines,
        *verb,
        f"echo $code > {status}.new && mv {status}.new {status}",
        "exit $code",
    ]
    return "\n".join(lines) + "\n"


def _stdin(submission: Submission) -> str:
    return sh_word(submission.stdin or "/dev/null")


def _quoted(submission: Submission, name: str) -> str:
    return sh_word(str(submission.directory / name))


def job_settings(directory: PurePath, mark: str, number: int = 0, after: str = "") -> SubmitSettings:
    """Return the settings of a job that continues a submission after an array (or none, "")."""
    return SubmitSettings(
        name=name_of(directory),
        log=str(directory / LOG),
        mark=mark,
        after=after,
        alone=True,
        environment=_round(number),
    )


def array_settings(directory: PurePath, mark: str, number: int, count: int, at_once: int) -> SubmitSettings:
    """Return the settings of a round's array with ``count`` elements."""
    return SubmitSettings(
        name=f"{name_of(directory)}-{number}",
        log=f"{directory / ROUNDS / str(number)}/{{element}}.log",
        mark=mark,
        elements=count,
        at_once=at_once,
        environment=_round(number),
    )


def _round(number: int) -> dict[str, str | None]:
    """Remove array variables: a job submitted from within another one is not an element of its array."""
    return {_ROUND_VARIABLE: str(number), ELEMENT_VARIABLE: None}


def element_of(environment: Mapping[str, str]) -> int | None:
    """Return the index of this process in its array; None for the job after an array."""
    index = environment.get(ELEMENT_VARIABLE, "")
    element = number_of(index, -1)
    return element if element >= 0 else None


def request_of(job: Job, scheduler: BatchScheduler, minutes: int) -> JobRequest:
    """Return the resources of a launch line: its nodes and ranks, nodes exclusively."""
    hosts = job.segments[0].first(Meaning.HOSTS) if job.dialect == scheduler.launcher else None
    return JobRequest(
        nodes=_count(job, Meaning.NODES),
        ranks=_count(job, Meaning.RANKS),
        ranks_per_node=_count(job, Meaning.RANKS_PER_NODE),
        cores_per_rank=_count(job, Meaning.THREADS_PER_RANK),
        hosts=hosts.values[0] if hosts else "",
        time=scheduler.time_text(minutes),
    )


def _count(job: Job, meaning: Meaning) -> int:
    """Return the sum of ranks, or the maximum of other counts; 0 unless all programs specify it."""
    texts = [option.values[0] for segment in job.segments if (option := segment.first(meaning)) is not None]
    if len(texts) < len(job.segments) or not all(text.isdigit() for text in texts):
        return 0
    return sum(map(int, texts)) if meaning is Meaning.RANKS else max(map(int, texts))
