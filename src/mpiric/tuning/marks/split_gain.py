"""The split of a gain, from the pairs of a proof. Both intervals share the error: start-up, and main part."""

from collections.abc import Iterable, Sequence
from math import inf
from statistics import median

from mpiric.model.configuration import Configuration
from mpiric.model.trial import Outcome, Phase, Split, Trial
from mpiric.model.tuned import PartRatio, SplitGain
from mpiric.tuning.marks.forecast import gain_of_longer
from mpiric.tuning.proof.confidence_sequence import centre, interval_of_known
from mpiric.tuning.proof.paired_claim import Bounds, as_ratios, quotient

_ERROR = 0.05 / 2
_LEAST_S = 1e-9  # clocks are coarse: a part may take no time
_LONGER = (10, 100)


def split_gain(pairs: Sequence[tuple[Split, Split]]) -> SplitGain | None:
    """Split a gain by the pairs (original, tuned) whose parts are known; None without any."""
    whole = [pair for pair in pairs if None not in (_main_s(pair[0]), _main_s(pair[1]))]
    if not whole:
        return None
    ended = [pair for pair in whole if not any(map(_is_stopped, pair))] or whole
    original, tuned = (_median_split([pair[side] for pair in ended]) for side in (0, 1))
    longer = () if original.main_s is None else _LONGER
    return SplitGain(
        original,
        tuned,
        _ratio((_start(a), _start(b)) for a, b in whole),
        _ratio((_main(a), _main(b)) for a, b in whole),
        tuple((times, gain_of_longer(original, tuned, times)) for times in longer),
    )


def paired_splits(trials: Iterable[Trial], configuration: Configuration) -> list[tuple[Split, Split]]:
    """Splits of the pairs (original, configuration) among the trials of a proof."""
    sides: dict[Configuration, dict[object, Split]] = {Configuration(): {}, configuration: {}}
    for trial in trials:
        counts = trial.outcome is Outcome.OK or trial.at_least is not None
        if trial.phase is Phase.PROOF and counts and trial.split is not None:
            sides.get(trial.configuration, {})[trial.pair, trial.replicate] = trial.split
    originals, tuned = sides[Configuration()], sides[configuration]
    return [(originals[pair], tuned[pair]) for pair in originals if pair in tuned]


def _main_s(split: Split) -> float | None:
    return split.per_mark_s if split.per_mark_s is not None else split.main_s


def _is_stopped(split: Split) -> bool:
    return split.start_from_s is not None


def _start(split: Split) -> Bounds:
    from_s = split.start_s if split.start_from_s is None else split.start_from_s
    return max(from_s, _LEAST_S), max(split.start_s, _LEAST_S)


def _main(split: Split) -> Bounds:
    main_s = max(_main_s(split) or 0.0, _LEAST_S)
    return main_s, inf if _is_stopped(split) else main_s


def _ratio(pairs: Iterable[tuple[Bounds, Bounds]]) -> PartRatio:
    ratios = [quotient(original, tuned) for original, tuned in pairs]
    return PartRatio(centre(as_ratios(ratios)), *interval_of_known(ratios, _ERROR))


def _median_split(splits: Sequence[Split]) -> Split:
    def middle(name: str) -> float | None:
        values = [value for split in splits if (value := getattr(split, name)) is not None]
        return median(values) if values else None

    return Split(middle("start_s") or 0.0, middle("main_s"), middle("end_s"), middle("per_mark_s"))
