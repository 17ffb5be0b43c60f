"""A lab's Lustre on several virtual hosts, and commands that run there, on each host a rank."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from tests.lab import cluster, fs
from tests.lab.enter import command_line
from tests.lab.fs.on_hosts import mounted_on
from tests.lab.plan import FAST, Plan, host_names
from tests.support.oversubscription import OVERSUBSCRIBED, WITHOUT_LIBFABRIC

from benchmarks._ior import Pattern
from benchmarks._programs import Bed
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.run import Phase
from mpiric.outputs.digest import file_digest
from mpiric.tuning.events import read_log
from mpiric.tuning.store import EVENTS

TARGETS = 8
MIB = 1 << 20
_LIMIT_S = 120.0
_NEAR = 0.8  # fraction of the best point's median


@dataclass(frozen=True)
class Setup:
    """Layout of the output directory (None: the default), hints and variables of the library."""

    name: str
    stripes: int | None = None
    stripe_bytes: int = MIB
    hints: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    prepare: tuple[tuple[str, ...], ...] = ()
    argv: tuple[str, ...] = ()  # another command, as tune prints it

    def variables(self, bed: Bed, file: Path) -> dict[str, str]:
        """Return the variables that set the hints; write ROMIO's hints to a file."""
        variables = dict(self.environment)
        if bed.mpi.implementation == "openmpi":
            return variables | {f"OMPI_MCA_io_ompio_{key}": value for key, value in self.hints.items()}
        if self.hints:
            file.write_text("".join(f"{key} {value}\n" for key, value in self.hints.items()))
            variables["ROMIO_HINTS"] = str(file)
        return variables

    def commands(self) -> tuple[tuple[str, ...], ...]:
        """Return the commands to run before the launch."""
        if self.stripes is None:
            return self.prepare
        return (("lfs", "setstripe", "-c", str(self.stripes), "-S", str(self.stripe_bytes), "out"),)


@dataclass(frozen=True)
class Lab:
    """The hosts with the file system mounted, which this machine's client sees as well."""

    client: fs.Client
    cluster: Path
    hosts: tuple[str, ...]
    lustre_calls: Path  # preloaded, Intel MPI takes the mount for Lustre and uses its driver when told to

    def launch(self, bed: Bed, program: str, arguments: Sequence[str]) -> tuple[str, ...]:
        """Return the line that starts one unbound rank on each host; the hosts share the cores."""
        names = ",".join(self.hosts)
        options = ("-hosts", names, "-ppn", "1")
        if bed.mpi.implementation == "openmpi":
            options = ("--host", names, "--bind-to", "none")
        return (bed.mpi.launcher, *options, "-n", str(len(self.hosts)), program, *arguments)

    def environment(self, bed: Bed) -> dict[str, str]:
        """Return the variables of the library, with the lab's `lfs` on PATH; waiting ranks do not spin."""
        path = f"{fs.SOURCES}:{bed.environment['PATH']}"
        waiting = {**OVERSUBSCRIBED[bed.mpi.implementation]}
        if bed.mpi.implementation == "openmpi":
            waiting |= WITHOUT_LIBFABRIC
        if bed.mpi.implementation == "intelmpi":
            waiting["LD_PRELOAD"] = str(self.lustre_calls)
        return {**bed.environment, **waiting, "PATH": path, "LAB_FS_TARGETS": str(TARGETS)}

    def on_first(
        self, argv: Sequence[str], work: Path, environment: Mapping[str, str], limit_s: float | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command in a directory, on the first host."""
        line = command_line(self.cluster, self.hosts[0], argv)
        return subprocess.run(
            line, cwd=work, env=environment, capture_output=True, text=True, timeout=limit_s
        )

    def run(self, bed: Bed, pattern: Pattern, argv: Sequence[str], setup: Setup) -> tuple[float, bytes]:
        """Return the rate that a run prints and a digest of its output; remove its directory."""
        work = self.client.mount / "run"
        (work / "out").mkdir(parents=True)
        try:
            environment = {**self.environment(bed), **setup.variables(bed, self.client.state / "hints")}
            for command in setup.commands():
                subprocess.run(command, cwd=work, env=environment, check=True, capture_output=True)
            done = self.on_first(setup.argv or argv, work, environment, _LIMIT_S)
            written = self._contents(work) if pattern.program == "ior" else b""  # mdtest's have no contents
        finally:
            shutil.rmtree(work)
        if done.returncode:
            raise ProgramFailedError(
                f"{setup.name}: {done.stderr.strip()[-300:] or done.stdout.strip()[-300:]}"
            )
        return pattern.rate(done.stdout), written

    def _contents(self, work: Path) -> bytes:
        """Digest of all output files, read behind the file system's back."""
        behind = self.client.state / "tree" / work.relative_to(self.client.mount) / "out"
        state = blake2b()
        for path in sorted(path for path in behind.rglob("*") if path.is_file()):
            state.update(file_digest(path))
        return state.digest()

    def tune(self, bed: Bed, argv: Sequence[str], budget: str, kept_in: Path) -> dict[str, Any]:
        """Return the result of `mpiric tune --only io --json` and the number of its runs before the proof.

        ``kept_in`` is emptied first; it keeps the log and the files that the answer needs.
        """
        shutil.rmtree(kept_in, ignore_errors=True)
        kept_in.mkdir(parents=True)
        work = self.client.mount / "tune"
        (work / "out").mkdir(parents=True)
        command = [sys.executable, "-m", "mpiric", "tune", "--only", "io", "--json", "--budget", budget]
        command += ["--store", str(kept_in), "--", *argv]
        done = self.on_first(command, work, {**self.environment(bed), "XDG_STATE_HOME": str(kept_in)})
        shutil.rmtree(work)
        (kept_in / "stderr").write_text(done.stderr)
        if done.returncode:
            raise MpiricError(f"tune: {done.stderr.strip()[-400:]}")
        (kept_in / "tune.json").write_text(done.stdout)
        result: dict[str, Any] = json.loads(done.stdout)
        trials = read_log(Path(result["store"]) / EVENTS).trials
        return {**result, "search_runs": sum(trial.phase is not Phase.PROOF for trial in trials)}


@contextmanager
def mounted(hosts: int, bandwidth: float) -> Iterator[Lab]:
    """A new file system on new hosts."""
    with TemporaryDirectory(prefix="mpiric-io-") as place:
        base = Path(place)
        program, state, mount = fs.build(base / "labfs"), base / "state", base / "mount"
        settings = (f"targets={TARGETS}", f"bandwidth={bandwidth}")
        for directory in (state, mount):
            directory.mkdir()
        plan = Plan(host_names(str(hosts)), (FAST,), (str(base),))
        with (
            cluster.running(base / "cluster", plan) as directory,
            fs.client(program, state, mount, *settings) as client,
            mounted_on(directory, plan.hosts, program, state, mount, *settings),
        ):
            yield Lab(client, directory, plan.hosts, fs.lustre_calls(base / "lustre_calls.so"))


def in_turns(
    run: Callable[[Setup], tuple[float, bytes]],
    sides: Sequence[Setup],
    points: Sequence[Setup],
    rounds: int,
    seed: int,
) -> dict[str, list[float]]:
    """Return name → rates. Each round runs every side once in random order, after a warm-up of the first.

    Points that were never near the best one's median are left out of further rounds. A side whose output
    differs from the first side's has the rate 0.
    """
    rates: dict[str, list[float]] = {setup.name: [] for setup in (*sides, *points)}
    random = Random(f"io {seed}")
    _, right = run(sides[0])
    for _ in range(rounds):
        best = max((median(rates[point.name]) for point in points if rates[point.name]), default=0.0)
        likely = [point for point in points if not best or max(rates[point.name]) >= _NEAR * best]
        for setup in random.sample([*sides, *likely], len(sides) + len(likely)):
            rate, written = run(setup)
            rates[setup.name].append(rate if written == right else 0.0)
    return rates
