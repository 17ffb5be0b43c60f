"""Error rates and costs of the proof on simulated running times: no real program runs.

Errors: claims about identical sides, and about settings without effect next to a setting that helps; also
with pairs whose second run is stopped, far earlier than in a tune. Costs: the runs until the smallest answer
and the share of each setting are proved, compared with a proof of the whole answer alone.
"""

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from statistics import fmean, median
from typing import Any

from tests.support.noise import NOISES, SimulatedProgram

from benchmarks._report import Result, options, run, tell
from benchmarks._statistics import upper_bound
from mpiric.lab.lab import LoggedTrials, drive
from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Evidence
from mpiric.plans.prove import Proof, ProofState, prove
from mpiric.plans.smallest import SmallestAnswer
from mpiric.statistics.claims import StoppingRule
from mpiric.tuning.objective import Budget

_GOAL = 0.01
_SPREADS = (0.01, 0.1)  # noise of a run; programs alternate
_STOP_AT = 0.55  # fraction of the usual limit, so the second run stops at 1.1 times the first

# Speed-ups of the settings that help, number of settings without effect, and noise of a run.
_ANSWERS: Mapping[str, tuple[Mapping[str, float], int, float]] = {
    "1.5×": ({"a": 1.5}, 0, 0.03),
    "1.05×": ({"a": 1.05}, 0, 0.01),
    "1.5×, one idle": ({"a": 1.5}, 1, 0.03),
    "1.5×, two idle": ({"a": 1.5}, 2, 0.03),
    "1.5×, six idle": ({"a": 1.5}, 6, 0.03),
    "1.5× and 1.2×": ({"a": 1.5, "b": 1.2}, 0, 0.03),
    "1.5× and 1.1×, one idle": ({"a": 1.5, "b": 1.1}, 1, 0.03),
    "1.5×, 1.2× and 1.1×": ({"a": 1.5, "b": 1.2, "c": 1.1}, 0, 0.03),
    "1.5× and 1.05×, noise 1 %": ({"a": 1.5, "b": 1.05}, 0, 0.01),
    "1.5× and 1.2×, one idle, noise 10 %": ({"a": 1.5, "b": 1.2}, 1, 0.1),
}

COLUMNS = {
    "what": "what",
    "noise": "noise",
    "proofs": "proofs",
    "wrong": "wrong claims",
    "upper95": "at most (95 %)",
    "runs": "runs, median",
    "runs_whole": "runs, whole answer alone",
    "kept": "helping kept",
    "idle": "idle in the answer",
    "stopped": "runs stopped",
}


def main() -> int:
    """Simulate errors, then costs; print and save the table."""
    parser = options("proof_simulated", "Error rates and costs of the proof on simulated programs.")
    parser.add_argument("--proofs", type=int, help="proofs of each kind (default 1000, quick 50)")
    return run("proof_simulated", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Everything, one kind of noise after the other."""
    proofs = arguments.proofs or (50 if arguments.quick else 1000)
    rows: list[dict[str, Any]] = []
    for what, work in _CLAIMS.items():
        for noise in NOISES:
            rows.append(_errors(what, noise, [work(noise, seed) for seed in range(proofs)]))
            tell(f"{what}, {noise}: {rows[-1]['wrong']} wrong of {proofs}")
    errors = list(rows)
    for name in _ANSWERS:
        rows.append(_cost(name, max(1, proofs // 5)))
        tell(f"{name}: {rows[-1]['runs']} runs")
    return Result(COLUMNS, rows, summary_of(errors))


def _verdict(noise: str, seed: int) -> tuple[bool, float]:
    """Identical sides, one setting; whether something is claimed, and the share of runs stopped."""
    return _is_claimed(drive(prove(ProofState(_answer("a"), seed=seed)), _program(noise, seed)).evidence), 0.0


def _block(noise: str, seed: int) -> tuple[bool, float]:
    """Identical sides, whose proof begins with a block in random order."""
    state = ProofState(_answer("a"), seed=seed, is_clear=True)
    return _is_claimed(drive(prove(state), _program(noise, seed)).evidence), 0.0


def _stopped(noise: str, seed: int) -> tuple[bool, float]:
    """Identical sides, of which the second run is stopped early."""
    program = _program(noise, seed, stop=_STOP_AT)
    evidence = drive(prove(ProofState(_answer("a"), seed=seed, stops=True)), program).evidence
    return _is_claimed(evidence), len(evidence.stopped) / (2 * len(evidence.pairs))


def _several(noise: str, seed: int) -> tuple[bool, float]:
    """Identical sides, three settings that do nothing."""
    return _is_claimed(_smallest(_program(noise, seed), _answer("a", "b", "c"), seed).evidence), 0.0


def _idle(noise: str, seed: int) -> tuple[bool, float]:
    """Prove one setting that helps and two without effect; return whether a claim is wrong."""
    program = _program(noise, seed, {"a": 1.5})
    shares = _smallest(program, _answer("a", "b", "c"), seed).evidence.shares
    return any(share.shown and "a" not in share.knobs for share in shares), 0.0


def _idle_stopped(noise: str, seed: int) -> tuple[bool, float]:
    """Prove the same answer with pairs whose second run is stopped."""
    program = _program(noise, seed, {"a": 1.5}, stop=_STOP_AT)
    evidence = _smallest(program, _answer("a", "b", "c"), seed, stops=True).evidence
    wrong = any(share.shown and "a" not in share.knobs for share in evidence.shares)
    return wrong, sum(trial.at_least is not None for trial in program.made) / len(program.made)


_CLAIMS: Mapping[str, Callable[[str, int], tuple[bool, float]]] = {
    "verdict, identical sides": _verdict,
    "verdict, identical sides, in a block": _block,
    "verdict, identical sides, stopped": _stopped,
    "anything, three idle settings": _several,
    "contribution, 1.5× and two idle": _idle,
    "contribution, the same, stopped": _idle_stopped,
}


def _cost(name: str, proofs: int) -> dict[str, Any]:
    speedups, idle, spread = _ANSWERS[name]
    answer = _answer(*speedups, *(f"idle{number}" for number in range(idle)))
    runs, whole_runs, kept_shares, extra_settings = [], [], [], []
    for seed in range(proofs):
        alone = SimulatedProgram("lognormal", spread, seed, speedups)
        is_clear = speedups["a"] > 1 + 10 * spread
        drive(prove(ProofState(answer, seed=seed, is_clear=is_clear)), alone)
        whole_runs.append(len(alone.made))
        program = SimulatedProgram("lognormal", spread, seed, speedups)
        proved_knobs = set(_smallest(program, answer, seed).evidence.configuration.as_dict())
        runs.append(len(program.made))
        kept_shares.append(len(proved_knobs & set(speedups)) / len(speedups))
        extra_settings.append(len(proved_knobs - set(speedups)))
    return {
        "what": f"smallest answer: {name}",
        "noise": f"lognormal {spread:.0%}",
        "proofs": proofs,
        "runs": median(runs),
        "runs_whole": median(whole_runs),
        "kept": fmean(kept_shares),
        "idle": fmean(extra_settings),
    }


def _errors(what: str, noise: str, outcomes: Iterable[tuple[bool, float]]) -> dict[str, Any]:
    wrongs, stopped = zip(*outcomes, strict=True)
    return {
        "what": what,
        "noise": noise,
        "proofs": len(wrongs),
        "wrong": sum(wrongs),
        "upper95": round(upper_bound(sum(wrongs), len(wrongs)), 4),
        "stopped": fmean(stopped) or None,
    }


def _smallest(program: SimulatedProgram, answer: Configuration, seed: int, *, stops: bool = False) -> Proof:
    smallest = SmallestAnswer(
        answer,
        lambda configuration: tuple((knob,) for knob, _ in configuration.items),
        StoppingRule(),
        Budget(),
        round_of=LoggedTrials().round_of,
        say=lambda _: None,
        seed=seed,
        stops=stops,
    )
    return drive(smallest.prove(), program)


def _program(
    noise: str, seed: int, speedups: Mapping[str, float] | None = None, stop: float = 1.0
) -> SimulatedProgram:
    return SimulatedProgram(noise, _SPREADS[seed % len(_SPREADS)], seed, speedups, stop=stop)


def _answer(*knobs: str) -> Configuration:
    return Configuration.of(dict.fromkeys(knobs, "on"))


def _is_claimed(evidence: Evidence) -> bool:
    return evidence.verdict.is_claim or any(share.shown for share in evidence.shares)


def summary_of(errors: Iterable[Mapping[str, Any]]) -> str:
    """Compare the largest share of wrong claims, and the total share, with the goal."""
    errors = list(errors)
    wrong, proofs = (sum(row[key] for row in errors) for key in ("wrong", "proofs"))
    worst = max(errors, key=lambda row: row["wrong"] / row["proofs"])
    return (
        f"{wrong} of {proofs} proofs claim something wrong ({wrong / proofs:.2%}, goal at most {_GOAL:.0%}); "
        f"the most, {worst['wrong'] / worst['proofs']:.2%}, with {worst['noise']} noise: {worst['what']}."
    )


if __name__ == "__main__":
    sys.exit(main())
