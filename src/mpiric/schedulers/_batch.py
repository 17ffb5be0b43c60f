"""Batch schedulers: declarations of their files, submission and tracking of jobs.

A server that is restarted or overloaded is waited for. A job that the scheduler begins again is followed on.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mpiric.host.host import HERE, TIMED_OUT, Completed, Host
from mpiric.model.amount import number_of
from mpiric.model.batch import Allocation, BatchJob, BatchLayout, NodeShape, RunFailure, ScriptCheck, Stage
from mpiric.model.errors import MismatchError, MpiricError, NotFoundError
from mpiric.model.quoting import directive_value
from mpiric.schedulers._scheduler import JobRequest, Option, Patience, Scheduler, SubmitSettings

COMMAND_TIMEOUT_S = 30.0
_BINDING = {  # dialect of a library's launcher → options that give each rank a number of adjacent cores
    "hydra": ("-bind-to", "core:{cores}", "-map-by", "core:{cores}"),
    "intelmpi": ("-genv", "I_MPI_PIN_DOMAIN", "{threads}:compact"),
    "openmpi4": ("--map-by", "slot:PE={cores}", "--bind-to", "core"),
    "openmpi5": ("--map-by", "slot:PE={cores}", "--bind-to", "core"),
}
# A rank sees the GPU of its block of ranks, out of the job's GPUs on this node.
_GPU_OF_RANK = (
    'rank=${{MPI_LOCALRANKID:-$OMPI_COMM_WORLD_LOCAL_RANK}}; [ -z "$rank" ] || '
    "for name in CUDA_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES ZE_AFFINITY_MASK; do "
    'eval "list=\\${{$name:-{gpus}}}"; export "$name=$(echo "$list" | cut -d, -f$(({number} + 1)))"; '
    'done; exec "$@"'
)
_NO_COMMAND = 127


class BatchScheduler(Scheduler):
    """Declaration of a scheduler: its syntax as data and pure functions, and readers of its output."""

    title = ""  # official spelling
    submitter = ""  # command that submits jobs
    launcher = ""  # launcher of the scheduler, which accepts host lists in its syntax
    # Launcher of the MPI library that finds a job's hosts, for schedulers without their own.
    library_launcher = ""
    directive = ""  # prefix of directives in a script
    comments_beside = False  # whether a directive may be followed by a comment
    shell_lines: tuple[str, ...] = ()  # lines of sh before each command of mpiric in a job
    installed_turn = 0  # if several schedulers are installed, the one with the lowest number is used
    fixed_options: tuple[str, ...] = ()  # options in each script that runs a command of mpiric
    element_variable = ""  # sh expression of an array element's index from 0, "" outside an array
    time_pattern = ""
    time_hint = ""
    submitted_pattern = ""  # regular expression for the id of a job or array in the output of the submitter
    marked_command: tuple[str, ...] = ()  # command that finds the user's job with ``{mark}``
    cancel_command: tuple[str, ...] = ()  # command that cancels the ids after it
    end_words: tuple[str, ...] = ()  # phrases in a job's log that show that the scheduler ended it
    # Command that restarts the job whose id follows; () if there is none.
    requeue_command: tuple[str, ...] = ()
    limit_command: tuple[str, ...] = ()  # command that prints the maximum size of an array
    limit_pattern = ""
    array_limit_by_default = 1000
    element_form = ""  # format of the id of an element
    element_log = ""  # format of its index in the name of a log
    first_element = 0
    forms: Mapping[str, str] = {}  # field of a request → option that sets it; {} is the value
    fields: Mapping[str, str] = {}  # option → field of a request, to find the fields that a user has set
    server_hint = ""  # hint where to look for the server
    away: tuple[str, ...] = ()  # texts in the output of its commands if the server caused a failure
    unknown: tuple[str, ...] = ()  # likewise, if a job is no longer known
    no_cluster: tuple[str, ...] = ()  # likewise, if the commands are installed without a cluster
    too_many: tuple[str, ...] = ("limit", "Limit")  # likewise, if an array is larger than allowed
    exclusion = ""  # form of the option that leaves out hosts; "" if the scheduler has none
    own_variables = ""  # prefix of variables that would make a new job believe that it is the present one
    kept_variables: tuple[str, ...] = ()

    def values(self, request: JobRequest) -> Mapping[str, object]:
        """Return the values of the fields in this scheduler's syntax; the scheduler decides 0 and ""."""
        texts = {name: directive_value(getattr(request, name)) for name in ("name", "account", "partition")}
        return {**vars(request), **texts, "exclusive": True}

    def options(self, request: JobRequest) -> tuple[Option, ...]:
        """Render a request."""
        values = self.values(request)
        return tuple(
            (form.format(values[field]), field) for field, form in self.forms.items() if values[field]
        )

    def time_text(self, minutes: int) -> str:
        """Render a time limit."""
        return str(minutes)

    def launch(
        self,
        layout: BatchLayout,
        shape: NodeShape,
        mpi: str,  # noqa: ARG002
        dialect: str = "",
    ) -> tuple[str, ...]:
        """Render the launcher's arguments that bind each rank to separate cores.

        ``dialect`` belongs to the MPI library's own launcher, "" when unknown: then that binds as it does.
        """
        sizes = {"cores": layout.cores_per_rank, "threads": layout.cores_per_rank * shape.threads_per_core}
        binding = (word.format(**sizes) for word in _BINDING.get(dialect, ()))
        return (self.library_launcher, "-n", str(layout.ranks), *binding)

    def around_program(self, layout: BatchLayout) -> tuple[str, ...]:
        """Render arguments before the program that give each rank its GPU if no option does this."""
        ranks, gpus = layout.ranks_per_node, layout.gpus_per_node
        if not self.library_launcher or not gpus:
            return ()
        number = f"rank * {gpus} / {ranks}"  # same as `BatchLayout.gpu_of_rank`
        code = _GPU_OF_RANK.format(gpus=",".join(map(str, range(gpus))), number=number)
        return ("sh", "-c", code, "sh")

    def unbound(self, layout: BatchLayout, dialect: str) -> str:
        """Return a sentence on resources that are bound differently from `mpiric place`, else ""."""
        if self.library_launcher and dialect not in _BINDING:
            return (
                "the MPI library is not known, so its launcher binds the ranks to cores as it does by default"
            )
        if layout.gpus_per_node:
            return "`mpiric place` on a compute node shows whether each GPU is near the cores of its ranks"
        return ""

    def process_managers(self, host: Host) -> tuple[str, ...]:  # noqa: ARG002
        """Return the values of ``--mpi`` that the scheduler's launcher supports; () if unknown."""
        return ()

    def default_process_manager(self, host: Host) -> str:  # noqa: ARG002
        """Return the MPI library that serves ranks without ``--mpi``, "" if unknown."""
        return ""

    def variables(self, layout: BatchLayout, launch: Sequence[str]) -> Mapping[str, tuple[str, str]]:  # noqa: ARG002
        """Return variables that a launch line needs in a script of this scheduler → value and reason."""
        return {}

    def submission(self, script: str, settings: SubmitSettings) -> list[str]:
        """Render the command that submits a script."""
        raise NotImplementedError

    def job_id(self, text: str) -> str:
        """Return the id in the form of `query`, from the output of the submitter or a job's environment."""
        return text

    def elements(self, array: str, count: int) -> tuple[str, ...]:
        """Return the ids of the elements of an array in the form of `query`."""
        indices = range(self.first_element, self.first_element + count)
        return tuple(self.element_form.format(array=array, index=index) for index in indices)

    def log(self, settings: SubmitSettings) -> str:
        """Return the file for the scheduler's messages about a job or each element of an array."""
        return settings.log.replace("{element}", self.element_log)

    def marked_job(self, stdout: str, mark: str) -> str:  # noqa: ARG002
        """Find the id of the job with a mark, "" if there is none."""
        return next(iter(stdout.split()), "")

    def query(self, jobs: Sequence[str]) -> list[str]:
        """Render the command that prints the states of jobs and elements."""
        raise NotImplementedError

    def states(self, stdout: str) -> Mapping[str, BatchJob]:
        """Read the states."""
        raise NotImplementedError

    def details_query(self, job: str) -> list[str]:  # noqa: ARG002
        """Render the command that prints exit status and restarts; [] if `query` prints them."""
        return []

    def details(self, stdout: str) -> BatchJob | None:
        """Read the answer of `details_query`."""
        raise NotImplementedError

    def own_job(self, environment: Mapping[str, str]) -> str:
        """Return the id of the job or element of this process, "" outside of a job."""
        raise NotImplementedError

    def time_left_query(self, job: str) -> list[str]:  # noqa: ARG002
        """Render the command that prints the remaining time of a running job; [] if there is none."""
        return []

    def time_left(self, stdout: str) -> float | None:  # noqa: ARG002
        """Read the remaining time in seconds: infinite without a limit, None if unknown."""
        return None

    def time_left_s(self, host: Host, job: str) -> float | None:
        """Return the seconds until the end of a running job: infinite without a limit, None if unknown."""
        query = self.time_left_query(job)
        done = self._run(host, query) if query else None
        return self.time_left(done.stdout) if done is not None and done.status == 0 else None

    def health_query(self, names: Sequence[str]) -> list[str]:
        """Render the command that prints whether hosts of the allocation are up."""
        raise NotImplementedError

    def unusable(self, stdout: str, names: Sequence[str]) -> tuple[str, ...]:
        """Read which of the hosts are down."""
        raise NotImplementedError

    def blame(self, stderr: str) -> str:  # noqa: ARG002
        """Find the line in which a launcher reports a failed scheduler or host, "" if there is none."""
        return ""

    def refusal(self, done: Completed) -> str:
        """Read why a command failed."""
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        return "; ".join(dict.fromkeys(line.removeprefix(f"{self.submitter}: ") for line in lines))

    def node_shapes(self, host: Host, partition: str = "") -> tuple[NodeShape, ...]:  # noqa: ARG002
        """Read the shapes of the nodes of a partition or queue, the most frequent first."""
        return ()

    def node_types(self, host: Host, partition: str = "") -> Mapping[str, int]:
        """Read the features of usable nodes ("" for none) → number of nodes with them."""
        raise NotImplementedError

    def idle_nodes(self, host: Host, partition: str = "") -> tuple[str, ...]:
        """Read the names of the nodes of a partition or queue that run no job."""
        raise NotImplementedError

    def check(self, host: Host, script: str) -> ScriptCheck | None:  # noqa: ARG002
        """Ask the scheduler whether it would accept a script; None if the scheduler cannot tell."""
        return None

    def expected_start(self, host: Host, request: JobRequest) -> str:  # noqa: ARG002
        """Return when a job of this size, of the account of the present job, would start; "" if unknown."""
        return ""

    def command_environment(self, host: Host) -> dict[str, str | None]:
        """Return changes to the environment for commands of this scheduler within a job."""
        names = (name for name in host.environ if self.own_variables and name.startswith(self.own_variables))
        return {name: None for name in names if name not in self.kept_variables}

    def submit(
        self, host: Host, script: str, settings: SubmitSettings, patience: Patience | None = None
    ) -> str:
        """Submit a script, also from within a job; returns the id of the new job or array.

        With a mark, a submission whose answer was lost is found again and not repeated. Raises
        MpiricError with the scheduler's reason.
        """
        patience = patience or Patience()
        for _ in patience.attempts():
            done = self._run(host, self.submission(script, settings), settings.environment)
            match = re.search(self.submitted_pattern, done.stdout, re.MULTILINE)
            if done.status == 0 and match:
                return self.job_id(match[1])
            if not self.is_away(done):
                raise self.refused(done)
            if settings.mark and (job := self.find(host, settings.mark, patience)):
                return job
        raise self.no_server(patience)

    def find(self, host: Host, mark: str, patience: Patience | None = None) -> str:
        """Return the job or array that was submitted with a mark, "" if the scheduler knows none."""
        for _ in (patience or Patience()).attempts():
            done = self._run(host, [word.format(mark=mark) for word in self.marked_command])
            if not self.is_away(done):
                return self.marked_job(done.stdout, mark)
        return ""

    def look(
        self, host: Host, jobs: Sequence[str], patience: Patience | None = None
    ) -> Mapping[str, BatchJob]:
        """Return the current states of jobs and elements. Waits if the server is not available."""
        patience = patience or Patience()
        for _ in patience.attempts():
            done = self._run(host, self.query(jobs))
            if done.status == 0 or any(text in done.stderr for text in self.unknown):
                states = self.states(done.stdout)
                return {job: states.get(job, BatchJob(job, Stage.FORGOTTEN)) for job in jobs}
            if not self.is_away(done):
                raise self.refused(done)
        raise self.no_server(patience)

    def follow(self, host: Host, jobs: Sequence[str], patience: Patience | None = None) -> Iterator[BatchJob]:
        """Yield each job whenever its state changes, until all jobs have ended."""
        patience = patience or Patience()
        last: dict[str, BatchJob] = {}
        pause = patience.first_s
        while open_jobs := [job for job in jobs if job not in last or not last[job].is_over]:
            changed = False
            for job, state in self.look(host, open_jobs, patience).items():
                now = self._in_full(host, state, last.get(job), patience)
                if now != last.get(job):
                    changed = True
                    last[job] = now
                    yield now
            pause = patience.first_s if changed else min(patience.longest_s, pause * 1.5)
            if not all(job in last and last[job].is_over for job in jobs):
                patience.sleep(pause)

    def _in_full(self, host: Host, job: BatchJob, before: BatchJob | None, patience: Patience) -> BatchJob:
        """Return the job with exit status and restarts, which are queried only if the stage has changed."""
        query = self.details_query(job.job)
        if not query:
            return job
        if before and (job.stage, job.state, job.hosts) == (before.stage, before.state, before.hosts):
            return replace(job, exit_status=before.exit_status, restarts=before.restarts)
        if job.stage is Stage.FORGOTTEN:
            return replace(job, restarts=before.restarts if before else 0)
        for _ in patience.attempts():
            done = self._run(host, query)
            details = self.details(done.stdout) if done.status == 0 else None
            if details is not None:
                return replace(details, job=job.job)
            if not self.is_away(done):
                return job  # the scheduler has forgotten it since
        raise self.no_server(patience)

    def cancel(self, host: Host, jobs: Sequence[str]) -> None:
        """Cancel jobs; jobs that have ended are ignored."""
        self._run(host, [*self.cancel_command, *jobs])

    def requeue(self, host: Host, job: str) -> bool:
        """Restart a running job from its beginning; return whether the scheduler accepts the request."""
        command = self.requeue_command
        return bool(command) and self._run(host, [*command, job]).status == 0

    def array_limit(self, host: Host) -> int:
        """Return the maximum size of an array; the scheduler's default if it does not answer."""
        answer = self._run(host, self.limit_command).stdout if self.limit_command else ""
        match = re.search(self.limit_pattern, answer, re.MULTILINE)
        limit = number_of(match[1]) if match and self.limit_command else 0
        return limit or self.array_limit_by_default

    def steps(self, host: Host, job: str) -> tuple[str, ...]:  # noqa: ARG002
        """Return the ids of the steps that run in a job, if the scheduler has steps."""
        return ()

    def why_it_failed(
        self,
        host: Host,
        allocation: Allocation,
        stderr: str,
        patience: Patience | None = None,
        foreign_steps: Sequence[str] = (),  # noqa: ARG002
    ) -> RunFailure:
        """Find out whether a host or the scheduler caused the failure of a run in the allocation.

        ``foreign_steps`` ran there before mpiric's own and are left alone.
        """
        patience = patience or Patience()
        names = [host_of_job.name for host_of_job in allocation.hosts]
        for _ in patience.attempts():
            done = host.run(self.health_query(names), timeout_s=COMMAND_TIMEOUT_S)
            if not self.is_away(done):
                lost = self.unusable(done.stdout, names) if done.status == 0 else ()
                return RunFailure(lost, "" if lost else self.blame(stderr))
        raise self.no_server(patience)

    def key(self, option: str) -> frozenset[str]:
        """Return the fields of a request that an option sets, or the option's name if it sets none."""
        head = re.match(r"--[\w-]+|-\w+", option)
        name = head[0] if head else option
        fields = self.fields.get(name) or (self.fields.get(name[:2]) if not name.startswith("--") else None)
        return frozenset((fields or name).split())

    def override(self, options: Sequence[Option], user_options: Sequence[str]) -> tuple[str, ...]:
        """Return the options that the user has not set, followed by the user's options."""
        keys = frozenset().union(*map(self.key, user_options))
        return (*(text for text, field in options if field not in keys), *user_options)

    def _run(
        self, host: Host, command: Sequence[str], environment: Mapping[str, str | None] | None = None
    ) -> Completed:
        changes = {**self.command_environment(host), **(environment or {})}
        return host.run(
            list(command), environment=changes, timeout_s=COMMAND_TIMEOUT_S, working_directory=HERE
        )

    def is_away(self, done: Completed) -> bool:
        """Check whether the server, not the command, caused a failure: restart or overload."""
        if done.status == TIMED_OUT:
            return True
        return done.status != 0 and any(text in done.stderr for text in self.away)

    def has_no_cluster(self, done: Completed) -> bool:
        """Check whether the commands are installed but do not belong to a cluster."""
        return any(text in done.stderr.lower() for text in self.no_cluster)

    def refused(self, done: Completed, command: str = "") -> MpiricError:
        """Return the error for a command that the scheduler refused."""
        command = command or self.submitter
        if done.status == _NO_COMMAND or self.has_no_cluster(done):
            missing = "is not there" if done.status == _NO_COMMAND else "is not configured on this machine"
            return NotFoundError(f"{command} {missing}", hint=f"use a login node of a {self.title} cluster")
        why = self.refusal(done) or f"exit status {done.status}"
        return MismatchError(f"{command} failed: {why}", hint="correct its options (see `mpiric script`)")

    def no_server(self, patience: Patience) -> MpiricError:
        """Return the error for a server that does not answer."""
        return NotFoundError(
            f"{self.title}'s server has not answered for {patience.controller_s / 60:.0f} minutes",
            hint=f"see {self.server_hint}",
        )


def arguments(options: Sequence[str]) -> list[str]:
    """Convert options of a script to the arguments of a command."""
    return [word for option in options for word in shlex.split(option)]
