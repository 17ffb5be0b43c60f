"""A made-up scheduler: ``quicksub --name=N SCRIPT`` prints ``queued 17``, ``quickls 17`` its state."""

from mpiric.model.batch import AllocatedHost, Allocation, BatchJob, End, Stage
from mpiric.schedulers._batch import BatchScheduler

_STATES = {"waits": Stage.WAITING, "runs": Stage.RUNNING, "done": Stage.ENDED}


class QuickQueue(BatchScheduler):
    """QuickQueue's commands and what they print."""

    name = "quickqueue"
    title = "Quick Queue"
    submitter = "quicksub"
    turn = -2
    directive = "#QUICK"
    submitted_pattern = r"^queued (\d+)$"
    cancel_command = ("quickrm",)

    def recognise(self, host):
        """Read the hosts from QUICK_HOSTS."""
        names = host.environ.get("QUICK_HOSTS", "").split()
        hosts = tuple(AllocatedHost(name, 4, 4) for name in names)
        return Allocation("quickqueue", "17", hosts, launch_words=("quickrun",)) if names else None

    def options(self, request):
        """Render a request."""
        return ((f"--ranks={request.ranks}", "ranks"),) if request.ranks else ()

    def submission(self, script, settings):
        """Render quicksub."""
        return ["quicksub", f"--name={settings.name}", *settings.options, script]

    def query(self, jobs):
        """Render quickls."""
        return ["quickls", *jobs]

    def states(self, stdout):
        """Read ``17 runs``."""
        words = (line.split() for line in stdout.splitlines())
        return {job: BatchJob(job, _STATES[word], word, End.COMPLETED) for job, word in words}

    def own_job(self, environment):
        """Read QUICK_JOB."""
        return environment.get("QUICK_JOB", "")


SCHEDULER = QuickQueue()
