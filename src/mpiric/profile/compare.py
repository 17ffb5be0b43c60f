"""Comparison of two profiles."""

from mpiric.model.profile import Comparison, Profile, QuantityChange

_HEADLINE = (
    ("ranks", "ranks"),
    ("wall time", "wall_s"),
    ("share of MPI", "mpi_share"),
    ("parallel efficiency", "parallel_efficiency"),
    ("load balance", "load_balance"),
    ("serialisation efficiency", "serialisation_efficiency"),
    ("transfer efficiency", "transfer_efficiency"),
    ("share of files", "io_share"),
    ("share of the kernel", "system_share"),
    ("peak memory of a rank", "peak_bytes"),
)


def compare(first: tuple[str, Profile], second: tuple[str, Profile]) -> Comparison:
    """Compare two profiles. Times are per rank, so that runs of different size can be compared."""
    profiles = (first[1], second[1])
    before, after = profiles
    ids = [{advice.finding.id: advice.finding.says for advice in profile.advice} for profile in profiles]
    return Comparison(
        labels=(first[0], second[0]),
        profiles=profiles,
        headline=tuple(
            QuantityChange(name, before.numbers[key], after.numbers[key]) for name, key in _HEADLINE
        ),
        functions=_ordered(_joined(_time_per_rank(before), _time_per_rank(after))),
        calls=tuple(
            change for change in _joined(_calls(before), _calls(after)) if change.before != change.after
        ),
        sizes=_joined(_bytes(before), _bytes(after)),
        advice_gone=tuple(says for key, says in ids[0].items() if key not in ids[1]),
        advice_new=tuple(says for key, says in ids[1].items() if key not in ids[0]),
    )


def _time_per_rank(profile: Profile) -> dict[str, float]:
    return {use.name: use.time_s / max(1, len(profile.ranks)) for use in profile.functions}


def _calls(profile: Profile) -> dict[str, float]:
    return {use.name: use.calls for use in profile.functions}


def _bytes(profile: Profile) -> dict[str, float]:
    return {f"{use.low_bytes} … {use.high_bytes} B": use.bytes for use in profile.sizes}


def _joined(before: dict[str, float], after: dict[str, float]) -> tuple[QuantityChange, ...]:
    return tuple(
        QuantityChange(name, before.get(name, 0), after.get(name, 0))
        for name in dict.fromkeys([*before, *after])
    )


def _ordered(changes: tuple[QuantityChange, ...]) -> tuple[QuantityChange, ...]:
    return tuple(sorted(changes, key=lambda change: -abs(change.after - change.before)))
