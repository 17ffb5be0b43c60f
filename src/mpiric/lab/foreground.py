"""Foreground runs: the program has the user's terminal, signals and exit status."""

from collections.abc import Callable, Mapping

from mpiric.host.processes.foreground import Output, run_in_foreground
from mpiric.host.processes.output_tap import OutputTap
from mpiric.lab.probes import Probe
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.job import Launch, Spelling
from mpiric.model.run import Execution, Outcome, Run, Trial


@dataclass(frozen=True)
class Foreground:
    """Runs in the user's directory; they are neither judged nor logged."""

    render: Callable[[Configuration, Spelling | None], Launch]
    environment: Mapping[str, str]  # environment of launches before their own changes
    output: Output = Output.STDOUT
    output_tap: OutputTap | None = None  # copy of the output of its single run
    error_tap: OutputTap | None = None  # copy of its error output
    after_ended_run: Callable[[], None] = lambda: None  # called if a run failed or was ended
    before_end: Callable[[], None] = lambda: None  # called before a run is ended at its limit

    def measure(self, run: Run) -> Trial:
        """Make a run. Raises NotFoundError if it cannot be started.

        The exit status is a shell's. A run that exceeded its limit is TIMED_OUT; a run that a signal from
        outside ended is INTERRUPTED.
        """
        probe = run.probe if isinstance(run.probe, Probe) else Probe()
        launch = self.render(run.configuration, probe.spelling())
        ran = run_in_foreground(
            launch,
            self.environment,
            self.output,
            run.limit_s,
            self.output_tap,
            self.error_tap,
            self.before_end,
        )
        outcome = Outcome.FAILED if ran.status else Outcome.OK
        if ran.was_ended or ran.was_asked_to_end:
            outcome = Outcome.TIMED_OUT if ran.was_ended else Outcome.INTERRUPTED
        if outcome is not Outcome.OK:
            self.after_ended_run()
        marks = probe.marks(Execution(outcome, ran.elapsed_s, ran.status))
        return Trial(
            run.configuration, run.phase, outcome, ran.elapsed_s, exit_status=ran.status, marks=marks
        )
