"""Slurm: jobs submitted with sbatch and followed without accounting (sacct), which many clusters lack.

Options: sbatch(1), srun(1), squeue(1), scontrol(1), sinfo(1) of 22.05. A job that has ended is forgotten
after MinJobAge, 300 s. Since 22.05 srun does not take over ``--cpus-per-task`` of the job ("NOTE" under that
option in srun(1)), so it is given twice.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mpiric.host.host import TIMED_OUT, Completed, Host
from mpiric.model.batch import Allocation, BatchLayout, NodeShape, RunFailure, ScriptCheck
from mpiric.model.quoting import directive_value
from mpiric.schedulers._batch import COMMAND_TIMEOUT_S, BatchScheduler, arguments
from mpiric.schedulers._scheduler import JobRequest, Patience, SubmitSettings, clock_s
from mpiric.schedulers.slurm import _output as output
from mpiric.schedulers.slurm._output import recognise

_STEP_TIMEOUT_S = 120.0
_FIRST_SPECIAL_STEP = 0xFFFFFFF0  # SLURM_STEP_ID of batch and interactive shells is above, which hold no CPUs
_PROMPT_S = 10.0  # upper bound for an empty step, also on many nodes


class Slurm(BatchScheduler):
    """Commands of Slurm."""

    name = "slurm"
    title = "Slurm"
    submitter = "sbatch"
    launcher = "srun"
    directive = "#SBATCH"
    comments_beside = True
    installed_turn = -1
    fixed_options = ("--open-mode=append", "--requeue", "--export=ALL")
    element_variable = "${SLURM_ARRAY_TASK_ID-}"
    time_pattern = r"\d+(:\d+){0,2}|\d+-\d+(:\d+){0,2}|unlimited|infinite"
    time_hint = "30 are minutes; or 2:00:00, or 1-12 for days-hours"
    forms: Mapping[str, str] = {
        "name": "--job-name={}", "account": "--account={}", "partition": "--partition={}",
        "time": "--time={}", "nodes": "--nodes={}", "ranks": "--ntasks={}",
        "ranks_per_node": "--ntasks-per-node={}", "cores_per_rank": "--cpus-per-task={}",
        "threads_per_core": "--hint=nomultithread", "gpus_per_node": "--gpus-per-node={}",
        "hosts": "--nodelist={}", "features": "--constraint={}",
        "exclusive": "--exclusive",
    }  # fmt: skip
    fields: Mapping[str, str] = {
        "--job-name": "name", "-J": "name", "--account": "account", "-A": "account",
        "--partition": "partition", "-p": "partition", "--time": "time", "-t": "time",
        "--nodes": "nodes", "-N": "nodes", "--ntasks": "ranks", "-n": "ranks",
        "--ntasks-per-node": "ranks_per_node", "--cpus-per-task": "cores_per_rank", "-c": "cores_per_rank",
        "--gpus-per-node": "gpus_per_node", "--nodelist": "hosts", "-w": "hosts",
        "--constraint": "features", "-C": "features",
        "--exclusive": "exclusive",
    }  # fmt: skip
    server_hint = "`scontrol ping`"
    away = output.AWAY
    unknown = ("Invalid job id specified",)
    no_cluster = ("could not establish a configuration source",)
    too_many = ("array", "limit", "Limit")
    exclusion = "--exclude={}"
    own_variables = "SLURM_"
    kept_variables = ("SLURM_CONF", "SLURM_CLUSTERS", "SLURM_JWT")
    submitted_pattern = r"^(\d+)(?:;\S+)?$"  # --parsable appends ;cluster on federations
    marked_command = ("squeue", "--noheader", "--me", "--states=all", f"--format={output.MARKED_FORMAT}")
    cancel_command = ("scancel",)
    end_words = (" CANCELLED AT ", " DUE TO ")
    requeue_command = ("scontrol", "requeue")
    limit_command = ("scontrol", "show", "config")
    limit_pattern = r"^MaxArraySize\s*=\s*(\d+)"
    element_form = "{array}_{index}"
    element_log = "%a"

    marked_job = staticmethod(output.marked)
    states = staticmethod(output.queue)
    details = staticmethod(output.job_details)
    blame = staticmethod(output.blame)

    def recognise(self, host: Host) -> Allocation | None:
        """Read SLURM_* variables."""
        return recognise(host.environ)

    def values(self, request: JobRequest) -> Mapping[str, object]:
        """Return the values: all features are required; one thread per core if cores have several."""
        options = {"features": directive_value(request.features.replace(",", "&"))}
        return {**super().values(request), **options, "threads_per_core": request.threads_per_core > 1}

    def launch(
        self,
        layout: BatchLayout,
        shape: NodeShape,
        mpi: str,
        dialect: str = "",  # noqa: ARG002
    ) -> tuple[str, ...]:
        """Render srun with each rank on separate cores."""
        # srun refuses --hint together with --cpu-bind; --hint=nomultithread is equivalent to this pair.
        smt = (
            ["--threads-per-core=1", "--cpu-bind=threads"]
            if shape.threads_per_core > 1
            else ["--cpu-bind=cores"]
        )
        manager = [f"--mpi={mpi}"] if mpi else []
        gpus = []
        if layout.gpus_per_node:
            # Rank r of a cyclic distribution is on socket r mod sockets.
            turns = shape.sockets if layout.alternates else 1
            by_socket = sorted(range(layout.ranks_per_node), key=lambda rank: rank % turns)
            gpu_of_rank = dict(zip(by_socket, layout.gpu_of_rank, strict=True))
            in_order = ",".join(str(gpu_of_rank[rank]) for rank in range(layout.ranks_per_node))
            gpus = [f"--gpus-per-node={layout.gpus_per_node}", f"--gpu-bind=map_gpu:{in_order}"]
        return (
            "srun",
            *manager,
            f"--cpus-per-task={layout.cores_per_rank}",
            *smt,
            f"--distribution=block:{'cyclic' if layout.alternates else 'block'}",
            *gpus,
        )

    def process_managers(self, host: Host) -> tuple[str, ...]:
        """Read ``srun --mpi=list``, which prints a heading and one name per line."""
        done = host.run(["srun", "--mpi=list"], timeout_s=COMMAND_TIMEOUT_S)
        return output.plugins(f"{done.stdout}\n{done.stderr}") if done.status == 0 else ()

    def default_process_manager(self, host: Host) -> str:
        """Read MpiDefault."""
        done = host.run(self.limit_command, timeout_s=COMMAND_TIMEOUT_S)
        match = re.search(r"^MpiDefault\s*=\s*(\S+)", done.stdout, re.MULTILINE)
        return match[1] if match and done.status == 0 else ""

    def variables(self, layout: BatchLayout, launch: Sequence[str]) -> Mapping[str, tuple[str, str]]:
        """Return the variable with the cores per rank, for an srun without this option."""
        if launch[0].rsplit("/", 1)[-1] != "srun" or any("cpus-per-task" in word for word in launch):
            return {}
        return {"SRUN_CPUS_PER_TASK": (str(layout.cores_per_rank), "srun does not take it over from the job")}

    def submission(self, script: str, settings: SubmitSettings) -> list[str]:
        """Render sbatch."""
        waits = ["singleton"] if settings.alone else []
        waits += [f"afterany:{settings.after}"] if settings.after else []
        throttle = f"%{settings.at_once}" if 0 < settings.at_once < settings.elements else ""
        command = ["sbatch", "--parsable"]
        command += [f"--job-name={settings.name}"] if settings.name else []
        command += [f"--output={self.log(settings)}"] if settings.log else []
        command += [f"--comment={settings.mark}"] if settings.mark else []
        command += [f"--dependency={','.join(waits)}"] if waits else []
        command += [f"--array=0-{settings.elements - 1}{throttle}"] if settings.elements else []
        return [*command, *arguments(settings.options), script]

    def query(self, jobs: Sequence[str]) -> list[str]:
        """Render squeue, which lists ended jobs during MinJobAge."""
        query = ["squeue", "--noheader", "--array", "--states=all", f"--format={output.QUEUE_FORMAT}"]
        return [*query, f"--jobs={','.join(jobs)}"]

    def details_query(self, job: str) -> list[str]:
        """Render scontrol, because squeue does not print exit status and restarts."""
        return ["scontrol", "--oneliner", "show", "job", job]

    def own_job(self, environment: Mapping[str, str]) -> str:
        """Return the id of this job, as ``12_3`` in an array."""
        array, index = environment.get("SLURM_ARRAY_JOB_ID", ""), environment.get("SLURM_ARRAY_TASK_ID", "")
        return f"{array}_{index}" if array and index else environment.get("SLURM_JOB_ID", "")

    def time_left_query(self, job: str) -> list[str]:
        """Render squeue."""
        return ["squeue", "--noheader", "--format=%L", f"--jobs={job}"]

    def time_left(self, stdout: str) -> float | None:
        """Read days, hours, minutes and seconds."""
        return clock_s(stdout)

    def health_query(self, names: Sequence[str]) -> list[str]:
        """Render sinfo for the hosts."""
        return ["sinfo", "--noheader", "--Node", "--format=%N|%T", f"--nodes={','.join(names)}"]

    def unusable(self, stdout: str, names: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Read which nodes are down."""
        return output.unusable(stdout)

    def steps(self, host: Host, job: str) -> tuple[str, ...]:
        """Ask squeue."""
        command = ["squeue", "--noheader", "--steps", f"--jobs={job}", "--format=%i"]
        return output.steps(host.run(command, timeout_s=COMMAND_TIMEOUT_S).stdout)

    def why_it_failed(
        self,
        host: Host,
        allocation: Allocation,
        stderr: str,
        patience: Patience | None = None,
        foreign_steps: Sequence[str] = (),
    ) -> RunFailure:
        """Ask sinfo, and start an empty step on all hosts: sinfo reports a dead host minutes later.

        A controller that has just come back lets steps wait (a minute, in 22.05), which says nothing about
        hosts, but excuses the run. A step of an earlier run that a host has forgotten holds its CPUs for
        ever: it is cancelled, and where no step starts then either, the allocation counts as lost.
        """
        patience = patience or Patience()
        names = [node.name for node in allocation.hosts]
        began, late = patience.clock(), 0
        inherited = dict.fromkeys(
            name for name in host.environ if name.startswith(("SLURM_STEP", "SLURM_CPU"))
        )
        excluded = {*foreign_steps, f"{allocation.job}.{host.environ.get('SLURM_STEP_ID', '')}"}
        cancelled = ""
        inside = int(host.environ.get("SLURM_STEP_ID") or _FIRST_SPECIAL_STEP) < _FIRST_SPECIAL_STEP
        for _ in patience.attempts():
            done = host.run(self.health_query(names), timeout_s=COMMAND_TIMEOUT_S)
            if self.is_away(done):
                continue
            if down := self.unusable(done.stdout, names):
                return RunFailure(down)
            step = host.run(
                _empty_step(allocation.job, len(names), overlaps=inside),
                environment=inherited,
                timeout_s=_STEP_TIMEOUT_S,
            )
            late += step.status == TIMED_OUT
            if step.status == TIMED_OUT:
                stuck = [item for item in self.steps(host, allocation.job) if item not in excluded]
                if stuck:
                    host.run(["scancel", "--signal=KILL", *stuck], timeout_s=COMMAND_TIMEOUT_S)
                    host.run(["scancel", *stuck], timeout_s=COMMAND_TIMEOUT_S)
                    cancelled = ", ".join(stuck)
            elif step.status == 0 and cancelled:
                return RunFailure(excuse=f"Slurm started no job step before {cancelled} was cancelled")
            waited_s = patience.clock() - began
            if step.status == 0 and waited_s > _PROMPT_S:
                return RunFailure(excuse=f"Slurm started no job steps for {waited_s:.0f} s")
            if late > 2:
                return RunFailure(tuple(names))
            lost = output.unreachable(step.stderr, names) if step.status else ()
            if lost or not self.is_away(step):
                return RunFailure(lost, "" if lost else self.blame(stderr))
        raise self.no_server(patience)

    def refusal(self, done: Completed) -> str:
        """Read why a command failed."""
        return output.tested(done.status, done.stderr).message

    def check(self, host: Host, script: str) -> ScriptCheck | None:
        """Ask ``sbatch --test-only``."""
        if host.which("sbatch") is None:
            return None
        done = host.run(["sbatch", "--test-only", script], timeout_s=COMMAND_TIMEOUT_S)
        if self.has_no_cluster(done) or self.is_away(done):
            return None
        return output.tested(done.status, done.stderr)

    def expected_start(self, host: Host, request: JobRequest) -> str:
        """Ask ``sbatch --test-only``, with partition and account of the present job."""
        partition, account = (host.environ.get(f"SLURM_JOB_{name}", "") for name in ("PARTITION", "ACCOUNT"))
        request = replace(request, partition=partition, account=account)
        options = [text for text, _ in self.options(request)]
        done = self._run(host, ["sbatch", "--test-only", *arguments(options), "--wrap=true"])
        match = re.search(r"to start at (\S+)", done.stderr)
        return match[1] if match and done.status == 0 else ""

    def node_shapes(self, host: Host, partition: str = "") -> tuple[NodeShape, ...]:
        """Read sockets, cores and threads from sinfo."""
        done = host.run(_nodes_query("%P|%D|%X|%Y|%Z", partition), timeout_s=COMMAND_TIMEOUT_S)
        lines = [line.partition("|") for line in done.stdout.splitlines()]
        chosen = [limit for name, _, limit in lines if partition or name.endswith("*")]
        return output.node_shapes("\n".join(chosen))

    def node_types(self, host: Host, partition: str = "") -> Mapping[str, int]:
        """Read features (``-C``) from sinfo."""
        done = host.run([*_nodes_query("%P|%D|%b", partition), "--responding"], timeout_s=COMMAND_TIMEOUT_S)
        if done.status != 0:
            raise self.refused(done, "sinfo")
        return output.features(done.stdout, partition)

    def idle_nodes(self, host: Host, partition: str = "") -> tuple[str, ...]:
        """Read the nodes in state ``idle`` from sinfo; ``idle~`` is switched off."""
        query = [*_nodes_query("%P|%N|%T", partition), "--Node", "--states=idle", "--responding"]
        done = host.run(query, timeout_s=COMMAND_TIMEOUT_S)
        if done.status != 0:
            raise self.refused(done, "sinfo")
        return output.idle(done.stdout, partition)


def _nodes_query(form: str, partition: str) -> list[str]:
    of_partition = [f"--partition={partition}"] if partition else []
    return ["sinfo", "--noheader", "--exact", f"--format={form}", *of_partition]


def _empty_step(job: str, count: int, *, overlaps: bool) -> list[str]:
    """Return a step that waits for CPUs as runs do, unless the present step uses the CPUs."""
    shares = ["--overlap"] if overlaps else []
    step = ["srun", f"--jobid={job}", *shares, f"--nodes={count}", f"--ntasks={count}", "--mpi=none"]
    return [*step, "--ntasks-per-node=1", "--cpu-bind=none", "--input=none", "--quiet", "/bin/true"]


SCHEDULER = Slurm()
