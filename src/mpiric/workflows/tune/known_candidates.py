"""The candidates of a tune whose proof was begun: a tune that is resumed goes on with their proof."""

from typing import Any

from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Share
from mpiric.plans.search import ProofCandidate, estimated_share
from mpiric.workflows.tune.state import TuneState

_EVENT = "searched"


def keep_candidates(state: TuneState) -> None:
    """Note what the search has found, the best first."""
    candidates = [
        {
            "configuration": candidate.configuration.as_dict(),
            "expected_ratio": candidate.expected_ratio,
            "doubtful": list(candidate.doubtful),
            "evident": list(candidate.evident),
            "shares": [_render(share) for share in candidate.shares],
            "is_clear": candidate.is_clear,
        }
        for candidate in state.candidates.values()
    ]
    if not state.is_planned:
        state.log.append(_EVENT, {"candidates": candidates})


def kept_candidates(state: TuneState) -> tuple[ProofCandidate, ...]:
    """Candidates that an earlier part of this tune had found; empty where it had not come to that."""
    if state.is_planned:
        return ()
    events = [event for event in state.log.read().events if event["event"] == _EVENT]
    candidates = events[-1].get("candidates") if events else None
    if not isinstance(candidates, list):
        return ()
    return tuple(
        ProofCandidate(
            Configuration.of(candidate["configuration"]),
            float(candidate["expected_ratio"]),
            tuple(candidate["doubtful"]),
            tuple(candidate["evident"]),
            tuple(_read(share) for share in candidate.get("shares", ())),
            candidate.get("is_clear", False) is True,
        )
        for candidate in candidates
    )


def _render(share: Share) -> dict[str, Any]:
    interval = [share.low, share.high]
    return {"knob": share.knobs[0], "ratio": share.ratio, "interval": interval, "runs": share.runs}


def _read(share: dict[str, Any]) -> Share:
    return estimated_share(share["knob"], share["ratio"], share["interval"], share["runs"])
