"""The proof of a tune: the best candidate against the original."""

from mpiric.model.configuration import Configuration
from mpiric.model.trial import Phase, Trial
from mpiric.tuning.proof.proof import prove
from mpiric.workflows.tune.state import TuneState

_PATIENCE = 4.0  # a run of the proof may take this many times as long as the slowest original


def prove_best(state: TuneState, candidates: list[Configuration]) -> None:
    """Prove the best candidate; the next one only when that fails in a run of the proof."""
    limit_s = _PATIENCE * max(trial.wall_s for trial in state.originals) + 5.0

    def measure(configuration: Configuration, pair: int) -> Trial:
        before = state.trials.count
        trial = state.trials.run(state.situation, configuration, Phase.PROOF, limit_s, pair).trial
        state.budget.spend(state.trials.count - before - 1)
        state.report(trial)
        return trial

    for candidate in candidates:
        state.narrator.phase(f"Proving {candidate} against the original, in fresh pairs")
        proof = prove(
            measure,
            [candidate],
            state.request.rule,
            seed=state.request.seed,
            budget=state.budget,
            recorded=state.recorded_pairs(candidate),
        )
        state.evidence = proof.evidence
        state.rejected.update(proof.rejected)
        if not proof.rejected:
            return
