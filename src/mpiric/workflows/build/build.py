"""`mpiric build`: the user's build with every compiler, checked and timed in pairs, with a recommendation."""

import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field, replace
from pathlib import Path

from mpiric.build.candidates import CALLED, Candidate, candidates, shims
from mpiric.host.files import exists
from mpiric.host.host import Host
from mpiric.host.toolchain import Finished, Toolchain
from mpiric.lab.lab import Lab, drive
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, NotFoundError, ProgramFailedError
from mpiric.model.evidence import Verdict
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.run import Outcome, Phase, Plan, Run, Trial
from mpiric.model.situation import EVERYTHING
from mpiric.mpis import find_mpis
from mpiric.outputs.equivalence import AcceptedDifferences, Expectation, learn
from mpiric.plans.fastest import BASELINE, fastest
from mpiric.workflows.launch.parse_job import parse_job
from mpiric.workflows.trials.expected import known_situation
from mpiric.workflows.trials.users_lab import PrintingRun, users_lab

_PATIENCE, _LEAST_LIMIT_S = 10, 60.0  # time limit of a run: factor of the first program's time, plus slack
_NOTHING = (
    "the build called no compiler: clean the directory first, or give a command that rebuilds everything"
)


@dataclass(frozen=True)
class BuildRequest:
    """Options of `mpiric build`."""

    build: tuple[str, ...]
    run: str  # shell command in the built tree, "" to build only
    repeats: int
    try_mpis: bool
    root: Path
    feedback: bool = False  # also build with profile-guided optimisation, in two steps


@dataclass
class Attempt:
    """Build with one compiler, flag set and MPI library."""

    label: str
    family: str
    flag_set: str
    mpi: str
    built: bool
    sentence: str = ""  # reason for its exclusion
    vectorised: int = 0  # loops and blocks that the compiler reported as vectorised
    agrees: bool | None = None
    seconds: list[float] = field(default_factory=list)
    ratio: float | None = None  # speed relative to the first attempt, median of pairs
    tree: Path = Path()
    environment: Mapping[str, str] = field(default_factory=dict)


def _copy_tree(root: Path, tree: Path) -> None:
    """Copy the project without the temporary directory of the copies, which may be in it (TMPDIR=.)."""
    temporary = tree.parent.parent.resolve()

    def ignored(directory: str, _: list[str]) -> set[str]:
        return {temporary.name} if Path(directory).resolve() == temporary.parent else set()

    shutil.copytree(root, tree, symlinks=True, ignore=ignored)


def build_attempt(
    request: BuildRequest, candidate: Candidate, mpi: MpiLibrary | None, directory: Path, toolchain: Toolchain
) -> Attempt:
    """Build the tree; with profile-guided optimisation, run it and build again with the profile."""
    tree = directory / "tree"
    _copy_tree(request.root, tree)
    environment = dict(shims(candidate, directory / "bin", candidate.training or candidate.flags))
    directories = [str(directory / "bin")]
    if mpi:
        directories += [*mpi.search_path, str(Path(mpi.launcher).parent)]
        environment |= mpi.environment
        environment["LD_LIBRARY_PATH"] = ":".join(mpi.library_path)
    environment["PATH"] = ":".join([*directories, toolchain.environ.get("PATH", "")])
    done = _in(tree, request.build, environment, toolchain)
    if candidate.training and done.status == 0:
        done = _in(tree, ("sh", "-c", request.run), environment, toolchain)
        if done.status == 0 and candidate.merge:
            done = _in(tree, candidate.merge, environment, toolchain)
        if done.status == 0:
            shutil.rmtree(tree)
            # Profiles are found by the path of the objects.
            _copy_tree(request.root, tree)
            shims(candidate, directory / "bin", candidate.flags)
            done = _in(tree, request.build, environment, toolchain)
    output = done.printed + done.errors
    label = f"{candidate.label}{f', {mpi.label}' if mpi else ''}"
    is_built = done.status == 0 and exists(directory / "bin" / CALLED)
    attempt = Attempt(label, candidate.family, candidate.flag_set, mpi.label if mpi else "", is_built)
    attempt.sentence = "" if is_built else _NOTHING if done.status == 0 else error_line(output)
    attempt.vectorised = sum("vectorized" in line for line in output.splitlines())
    attempt.tree, attempt.environment = tree, environment
    return attempt


def _in(
    tree: Path, arguments: Sequence[str], environment: Mapping[str, str], toolchain: Toolchain
) -> Finished:
    return toolchain.run(["env", "-C", str(tree), *arguments], environment=environment)


def error_line(text: str) -> str:
    """Return the first line that contains an error, else the first line."""
    lines = [line for line in text.splitlines() if line.strip()]
    telling = ("error", "cannot find", "undefined reference")
    errors = [line for line in lines if any(word in line.lower() for word in telling)]
    return (errors or lines or ["it printed nothing"])[0][:160]


class BuiltPrograms:
    """Measures the programs of several builds, each in its tree; their outputs must be equal.

    A configuration names a build; `BASELINE` names the first build whose runs were successful.
    """

    def __init__(self, labs: Mapping[str, Lab]) -> None:
        self._labs = labs
        self._expected: Expectation | None = None
        self.baseline = ""  # label of the first build
        self.limit_s: float | None = None

    def measure(self, run: Run) -> Trial:
        """Make a run; an output that differs from the expected one is rejected."""
        label = run.configuration.as_dict().get("build", self.baseline)
        alone = replace(run, configuration=BASELINE, limit_s=self.limit_s, stop_at=None, probe=PrintingRun())
        trial = replace(self._labs[label].measure(alone), configuration=run.configuration)
        if trial.outcome is not Outcome.OK or self._expected is None:
            return trial
        # Flags may permit reordered sums.
        wrong = self._expected.compare(_output(trial), AcceptedDifferences(rounding=True))
        return (
            replace(trial, outcome=Outcome.DIFFERENT, objective=None, reason=str(wrong)) if wrong else trial
        )

    def learn(self, label: str, trials: Sequence[Trial]) -> None:
        """Take the first correct runs as reference for outputs and times."""
        self.baseline, self._expected = label, learn([_output(trial) for trial in trials])
        self.limit_s = _LEAST_LIMIT_S + _PATIENCE * max(trial.wall_s for trial in trials)


def _output(trial: Trial) -> str:
    return Path(trial.stdout).read_text(errors="replace")


@contextmanager
def built_programs(
    request: BuildRequest, built: Sequence[Attempt], toolchain: Toolchain, host: Host
) -> Iterator[BuiltPrograms]:
    """Prepare the runs of the built programs, each in its tree and environment."""
    with ExitStack() as stack:
        labs = {}
        for attempt in built:
            environment = {**toolchain.environ, **attempt.environment}
            parsed = parse_job(("sh", "-c", request.run), host, str(attempt.tree), environment)
            situation = known_situation(parsed, host, EVERYTHING)
            labs[attempt.label] = stack.enter_context(users_lab(situation, host))
        yield BuiltPrograms(labs)


def check_answers(request: BuildRequest, built: Sequence[Attempt], programs: BuiltPrograms) -> Plan[None]:
    """Run each program and note whether its output is right; the first successful one is the reference."""
    for attempt in built:
        run = Run(Configuration.of({"build": attempt.label}), Phase.OBSERVE)
        trials = [(yield run)]
        if not programs.baseline:
            trials.append((yield run))
        failed = next((trial for trial in trials if trial.outcome is not Outcome.OK), None)
        attempt.agrees = failed is None
        if failed is None and not programs.baseline:
            programs.learn(attempt.label, trials)
        elif failed is not None and failed.outcome is Outcome.TIMED_OUT:
            attempt.sentence = f"no end within {programs.limit_s or 0:.0f} s"
        elif failed is not None and failed.outcome is Outcome.FAILED:
            attempt.sentence = error_line(Path(failed.stderr).read_text(errors="replace"))
        elif failed is not None:
            attempt.sentence = failed.reason
    if not programs.baseline:
        raise ProgramFailedError(
            f"'{request.run}' fails with every build, {built[0].label} first: {built[0].sentence}",
            hint="build and run it by hand in a copy of the directory",
        )


def proved_fastest(
    request: BuildRequest, right: Sequence[Attempt], programs: BuiltPrograms
) -> tuple[Attempt, str]:
    """Return the attempt that new pairs prove fastest, else the first, and a sentence; set the ratios."""
    attempts = {BASELINE: right[0]}
    attempts |= {Configuration.of({"build": attempt.label}): attempt for attempt in right[1:]}

    def note_time(trial: Trial) -> None:
        attempts[trial.configuration].seconds.append(trial.wall_s)

    plan = fastest([*attempts][1:], request.repeats, secrets.randbits(32))
    result = drive(plan, programs.measure, note_time)
    for configuration, ratio in result.ratios.items():
        attempts[configuration].ratio = ratio
    first, evidence = right[0], result.evidence
    if evidence is None:
        return first, f"no build was faster than {first.label}" if result.ratios else ""
    best, pairs = attempts[evidence.configuration], len(evidence.pairs)
    if evidence.verdict is Verdict.FASTER:
        return (
            best,
            f"{best.label} is {evidence.ratio:.3f} times as fast as {first.label}: {pairs} fresh pairs",
        )
    return first, f"no difference shown in {pairs} fresh pairs between {first.label} and {best.label}"


@dataclass(frozen=True)
class BuildAdvice:
    """Attempts and recommendation."""

    attempts: tuple[Attempt, ...]
    best: Attempt | None
    targets: tuple[str, ...]
    proof: str  # result of new pairs of runs, "" without timing


def try_all(
    request: BuildRequest, host: Host, toolchain: Toolchain, watch: Callable[[str], None]
) -> BuildAdvice:
    """Build with each candidate, check the results against the first, measure the times alternately."""
    path = toolchain.environ.get("PATH", "")
    if request.feedback and not request.run:
        raise MpiricError("--feedback needs a run", hint="add --run COMMAND")
    if not candidates(path):
        raise NotFoundError(
            "no compiler that mpiric knows is on PATH", hint="load a module with a compiler, or install gcc"
        )
    mpis: Sequence[MpiLibrary | None] = (
        [m for m in find_mpis(host) if m.compilers] if request.try_mpis else [None]
    )
    with tempfile.TemporaryDirectory(prefix="mpiric-build-") as name:
        attempts: list[Attempt] = []
        all_candidates = candidates(path, Path(name, "profiles") if request.feedback else None)
        for number, (mpi, candidate) in enumerate((m, c) for m in mpis or [None] for c in all_candidates):
            attempt = build_attempt(request, candidate, mpi, Path(name, str(number)), toolchain)
            watch(f"{attempt.label}: {'built' if attempt.built else attempt.sentence}")
            attempts.append(attempt)
        built = [attempt for attempt in attempts if attempt.built]
        best: Attempt | None = next(iter(built), None)
        proof = ""
        if request.run and built:
            watch(f"checking the answers of {len(built)} programs")
            with built_programs(request, built, toolchain, host) as programs:
                drive(check_answers(request, built, programs), programs.measure)
                right = [attempt for attempt in built if attempt.agrees]
                rounds = f"{request.repeats} rounds, then the fastest in fresh pairs"
                watch(f"timing {len(right)} programs in {rounds}")
                best, proof = proved_fastest(request, right, programs)
    # The levels up to this machine's, for a fat executable that also runs on older machines.
    import archspec.cpu

    host_cpu = archspec.cpu.host()
    line = [host_cpu.generic, *host_cpu.generic.ancestors]
    return BuildAdvice(
        tuple(attempts),
        best,
        tuple(
            sorted(str(level) for level in line if str(level).startswith(("x86_64_v", "armv", "neoverse")))
        ),
        proof,
    )
