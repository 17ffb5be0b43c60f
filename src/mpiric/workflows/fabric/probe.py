"""The native probe, or the command itself, run as the user does with some knobs set, and its output."""

import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from mpiric import knobs, launchers
from mpiric.fabric.probe import damaged, read_probe
from mpiric.host.host import Host
from mpiric.host.installation.native import native_part
from mpiric.host.processes.execution import Runner
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.execution import Execution
from mpiric.model.fabric import Way
from mpiric.model.job import Job, Segment
from mpiric.model.launch import Launch
from mpiric.model.narrator import Narrator
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling
from mpiric.model.trial import Outcome
from mpiric.workflows.launch.interchange import ready_to_serve
from mpiric.workflows.launch.spelling import completed, spellings

SIZES_BYTES = (8, 1024, 65536, 1048576)
_LIMIT_S = 90.0
_WORDS = 3  # lines of a failure that are reported


@dataclass(frozen=True)
class LaunchOutput:
    """How a launch ended and all that it printed."""

    execution: Execution
    text: str

    @property
    def last_words(self) -> str:
        """The end of it in one line."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        return " / ".join(lines[-_WORDS:])[:300]


class FabricBench:
    """Runs launches of one situation; nothing of their output reaches the terminal."""

    def __init__(self, runner: Runner, place: Path, host: Host) -> None:
        self._runner, self._place, self._host = runner, place, host

    def run(self, launch: Launch, situation: Situation, directory: str, limit_s: float) -> LaunchOutput:
        """Run and read. Raises KeyboardInterrupt when the user stops it."""
        out, err = self._place / "stdout", self._place / "stderr"
        done = self._runner.execute(
            launch, situation.job.environment, directory, out, err, limit_s, observe=True
        )
        if done.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        texts = [path.read_text(errors="replace") if path.exists() else "" for path in (err, out)]
        return LaunchOutput(done, "\n".join(texts))

    def probe(
        self, configuration: Configuration, situation: Situation, ask: Mapping[str, str] | None = None
    ) -> tuple[Way, str]:
        """One run of the probe in the program's place, and all that was printed."""
        try:
            launch = render_probe(configuration, situation, self._host, ask or {})
        except MpiricError as error:
            return Way(configuration, refused=error.message), ""
        output = self.run(launch, situation, situation.job.working_directory, _LIMIT_S)
        probe = read_probe(output.text)
        if output.execution.outcome is not Outcome.OK or not probe.points:
            reason = output.execution.reason or "the probe printed nothing"
            return Way(configuration, refused=f"{reason}: {output.last_words}"), output.text
        if damaged(output.text):
            return Way(configuration, refused="messages came back damaged"), output.text
        return Way(configuration, (probe,)), output.text

    def interleaved(
        self, configurations: Sequence[Configuration], situation: Situation, rounds: int, seed: int
    ) -> Iterator[tuple[Way, ...]]:
        """Rounds of probes in random order; what fails once is tried again in the next round."""
        order = random.Random(seed)  # noqa: S311 an order, not a secret
        for _ in range(rounds):
            shuffled = list(configurations)
            order.shuffle(shuffled)
            result = {configuration: self.probe(configuration, situation)[0] for configuration in shuffled}
            yield tuple(result[configuration] for configuration in configurations)


@contextmanager
def bench(host: Host) -> Iterator[FabricBench]:
    """A bench with a place of its own that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="mpiric-") as place, Runner() as runner:
        yield FabricBench(runner, Path(place), host)


def render_asking(configuration: Configuration, situation: Situation, ask: Mapping[str, str]) -> Launch:
    """The user's command with knobs, and variables that make the libraries talk."""
    return _render(situation.job, configuration, situation, Spelling(environment=dict(ask)))


def render_probe(
    configuration: Configuration, situation: Situation, host: Host, ask: Mapping[str, str]
) -> Launch:
    """The probe where the user's program stands. Raises MpiricError where it cannot be put there."""
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
    words = (program, "fabric", *map(str, SIZES_BYTES))
    segments = tuple(Segment(segment.options, words) for segment in job.segments)
    around = Spelling(environment=dict(ask), library_path=served.library_path)
    return _render(replace(job, segments=segments, stdin=""), configuration, situation, around)


def _render(job: Job, configuration: Configuration, situation: Situation, more: Spelling) -> Launch:
    written = spellings(configuration, situation)
    chosen = completed(configuration, situation).as_dict()
    spelled = [(knob, chosen[knob], spelling) for knob, spelling in written.items()]
    return launchers.render(job, [*spelled, ("fabric", "", more)])


def with_networks(situation: Situation, host: Host, narrator: Narrator) -> Situation:
    """What plain TCP gives between two of the nodes, known to the knobs; as it was where there is no choice.

    Nominal rates do not tell: those of tunnels, bridges and virtual functions are made up.
    """
    if not knobs.judge(knobs.all_knobs()["network-interface"], situation).applies:
        return situation
    with bench(host) as it:
        way, _ = it.probe(Configuration(), situation)
    if way.refused:
        narrator.say(f"networks are not measured: {way.refused}")
        return situation
    networks = sorted(way.probes[0].networks, key=lambda n: n.latency_us / n.bandwidth_mb_s)
    for each in networks:
        narrator.say(f"{each.name}: plain TCP {each.latency_us:.1f} µs, {each.bandwidth_mb_s:.0f} MB/s")
    return knowing_networks(situation, tuple(each.name for each in networks))


def knowing_networks(situation: Situation, names: tuple[str, ...]) -> Situation:
    """The situation with its networks in their measured order."""
    return replace(situation, observation=replace(situation.observation, networks=names))
