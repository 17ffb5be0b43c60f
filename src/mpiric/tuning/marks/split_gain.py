"""The split of a gain, from the pairs of a proof. Both intervals share the error: start-up, and main part."""

from collections.abc import Iterable, Sequence
from statistics import median

from mpiric.model.configuration import Configuration
from mpiric.model.split_gain import PartRatio, SplitGain
from mpiric.model.trial import Outcome, Phase, Split, Trial
from mpiric.tuning.marks.forecast import gain_of_longer
from mpiric.tuning.proof.confidence_sequence import centre, median_interval

_ERROR = 0.05 / 2
_LEAST_S = 1e-9  # clocks are coarse: a part may take no time
_LONGER = (10, 100)


def split_gain(pairs: Sequence[tuple[Split, Split]]) -> SplitGain | None:
    """Split a gain by the pairs (original, tuned) whose parts are known; None without any."""
    whole = [pair for pair in pairs if None not in (_main_s(pair[0]), _main_s(pair[1]))]
    if not whole:
        return None
    original, tuned = (_median_split([pair[side] for pair in whole]) for side in (0, 1))
    longer = () if original.main_s is None else _LONGER
    return SplitGain(
        original,
        tuned,
        _ratio((a.start_s, b.start_s) for a, b in whole),
        _ratio((_main_s(a) or 0.0, _main_s(b) or 0.0) for a, b in whole),
        tuple((times, gain_of_longer(original, tuned, times)) for times in longer),
    )


def paired_splits(trials: Iterable[Trial], configuration: Configuration) -> list[tuple[Split, Split]]:
    """Splits of the pairs (original, configuration) among the trials of a proof."""
    sides: dict[Configuration, dict[object, Split]] = {Configuration(): {}, configuration: {}}
    for trial in trials:
        if trial.phase is Phase.PROOF and trial.outcome is Outcome.OK and trial.split is not None:
            sides.get(trial.configuration, {})[trial.pair, trial.replicate] = trial.split
    originals, tuned = sides[Configuration()], sides[configuration]
    return [(originals[pair], tuned[pair]) for pair in originals if pair in tuned]


def _main_s(split: Split) -> float | None:
    return split.per_mark_s if split.per_mark_s is not None else split.main_s


def _ratio(pairs: Iterable[tuple[float, float]]) -> PartRatio:
    ratios = [max(original, _LEAST_S) / max(tuned, _LEAST_S) for original, tuned in pairs]
    return PartRatio(centre(ratios), *median_interval(ratios, _ERROR))


def _median_split(splits: Sequence[Split]) -> Split:
    def middle(name: str) -> float | None:
        values = [value for split in splits if (value := getattr(split, name)) is not None]
        return median(values) if values else None

    return Split(middle("start_s") or 0.0, middle("main_s"), middle("end_s"), middle("per_mark_s"))
