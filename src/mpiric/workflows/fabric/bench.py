"""Runs of the native probe or of the command, and their reports on transports and times."""

import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from mpiric import launchers, mpis
from mpiric.fabric import library_output
from mpiric.fabric.probe import damaged, read_probe
from mpiric.host.files import exists
from mpiric.host.host import Host
from mpiric.host.installation.native import native_part
from mpiric.host.processes.execution import Runner
from mpiric.lab.render import completed, spellings
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.fabric import Route, TransportReport
from mpiric.model.job import Job, Segment
from mpiric.model.launch import Launch
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling
from mpiric.model.trial import Execution, Outcome
from mpiric.workflows.launch.interchange import ready_to_serve
from mpiric.workflows.launch.node_leftovers import cleaned_nodes

_SIZES_BYTES = (8, 1024, 65536, 1048576)


def render_command(situation: Situation, variables: Mapping[str, str]) -> Launch:
    """Return the launch of the user's command with additional environment variables."""
    return _render(situation.job, Configuration(), situation, Spelling(environment=variables))


def render_probe(
    configuration: Configuration, situation: Situation, host: Host, variables: Mapping[str, str]
) -> Launch:
    """Return the launch with the probe instead of the program. Raises MpiricError if that is impossible."""
    job, mpi = situation.job, situation.mpi
    if job.container is not None:
        raise MpiricError(
            f"the probe is not inside the container {job.container.image}",
            hint="give a program outside of containers, under the same launcher and MPI library",
        )
    program = native_part("probe-mpi", mpi.abi_families[0])
    elf = host.elf(program)
    needed = frozenset(name for name in (elf.needed if elf else ()) if name.startswith("libmpi"))
    served = ready_to_serve((mpi,), needed, mpi, host)[0]
    argv = (program, "fabric", *map(str, _SIZES_BYTES))
    segments = tuple(Segment(segment.options, argv) for segment in job.segments)
    around = Spelling(environment=variables, library_path=served.library_path)
    return _render(replace(job, segments=segments, stdin=""), configuration, situation, around)


def _render(job: Job, configuration: Configuration, situation: Situation, more: Spelling) -> Launch:
    written = spellings(configuration, situation)
    chosen = completed(configuration, situation).as_dict()
    spelled = [(knob, chosen[knob], spelling) for knob, spelling in written.items()]
    return launchers.render(job, [*spelled, ("fabric", "", more)])


_PROBE_LIMIT_S = 90.0
_LINES = 3  # reported lines of a failure


class FabricBench:
    """Runner for the launches of one situation; their output is not shown on the terminal."""

    def __init__(
        self, runner: Runner, directory: Path, host: Host, after_ended_run: Callable[[], None]
    ) -> None:
        self._runner, self._directory, self._host = runner, directory, host
        self._after_ended_run = after_ended_run

    def run_command(
        self, situation: Situation, directory: str, limit_s: float
    ) -> tuple[TransportReport, Situation]:
        """Run the unchanged command with reporting libraries, at most for the time limit.

        The returned situation contains the ranks of that run.
        """
        launch = render_command(situation, _reporting(situation))
        execution, text = self._run(launch, situation, directory, limit_s)
        if execution.outcome not in (Outcome.OK, Outcome.TIMED_OUT):
            raise ProgramFailedError(
                f"the command {execution.reason} as it stands: {_end(text)}",
                hint="make it run by itself first",
            )
        if execution.ranks:
            count = max(len(execution.ranks), len(situation.observation.ranks))
            ranks = (execution.ranks * count)[:count]  # ranks on other nodes are assumed to be alike
            situation = replace(situation, observation=replace(situation.observation, ranks=ranks))
        return _read(text, situation), situation

    def probe(self, configuration: Configuration, situation: Situation) -> Route:
        """Run the probe once instead of the program."""
        return self._probe(configuration, situation, {})[0]

    def probe_reporting(
        self, configuration: Configuration, situation: Situation
    ) -> tuple[Route, TransportReport]:
        """Run the probe once instead of the program, with reporting libraries."""
        route, text = self._probe(configuration, situation, _reporting(situation))
        return route, _read(text, situation)

    def interleaved(
        self, configurations: Sequence[Configuration], situation: Situation, rounds: int, seed: int
    ) -> Iterator[tuple[Route, ...]]:
        """Yield rounds of probes in random order; failed probes are repeated in the next round."""
        order = random.Random(seed)  # noqa: S311 not for cryptography
        for _ in range(rounds):
            shuffled = list(configurations)
            order.shuffle(shuffled)
            result = {configuration: self.probe(configuration, situation) for configuration in shuffled}
            yield tuple(result[configuration] for configuration in configurations)

    def _probe(
        self, configuration: Configuration, situation: Situation, variables: Mapping[str, str]
    ) -> tuple[Route, str]:
        try:
            launch = render_probe(configuration, situation, self._host, variables)
        except MpiricError as error:
            return Route(configuration, refused=error.message), ""
        execution, text = self._run(launch, situation, situation.job.working_directory, _PROBE_LIMIT_S)
        probe = read_probe(text)
        if execution.outcome is not Outcome.OK or not probe.points:
            reason = execution.reason or "the probe printed nothing"
            return Route(configuration, refused=f"{reason}: {_end(text)}"), text
        if damaged(text):
            return Route(configuration, refused="messages came back damaged"), text
        return Route(configuration, (probe,)), text

    def _run(
        self, launch: Launch, situation: Situation, directory: str, limit_s: float
    ) -> tuple[Execution, str]:
        """Run a launch and return its output. Raises KeyboardInterrupt if the user stops it."""
        out, err = self._directory / "stdout", self._directory / "stderr"
        execution = self._runner.execute(
            launch, situation.job.environment, directory, out, err, limit_s, observe=True
        )
        if execution.outcome is not Outcome.OK:
            self._after_ended_run()
        if execution.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        texts = [path.read_text(errors="replace") if exists(path) else "" for path in (err, out)]
        return execution, "\n".join(texts)


@contextmanager
def fabric_bench(situation: Situation, host: Host) -> Iterator[FabricBench]:
    """Yield a bench with its own directory; remove it and the remains of launches on the nodes."""
    with (
        tempfile.TemporaryDirectory(prefix="mpiric-") as directory,
        cleaned_nodes(situation.job, situation.nodes, host) as after_ended_run,
        Runner() as runner,
    ):
        yield FabricBench(runner, Path(directory), host, after_ended_run)


def _reporting(situation: Situation) -> dict[str, str]:
    """Return the variables that make the libraries report their transports."""
    return {**library_output.asking(), **mpis.ask_connections(situation.mpi.implementation)}


def _read(text: str, situation: Situation) -> TransportReport:
    return library_output.read_report(text, mpis.connections(situation.mpi.implementation, text))


def _end(text: str) -> str:
    """Return the end of an output in one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " / ".join(lines[-_LINES:])[:300]
