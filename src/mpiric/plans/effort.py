"""Effort: number of runs that a tune spends on small gains and on the shares of settings."""

from mpiric.model.dataclass import dataclass


@dataclass(frozen=True)
class Effort:
    """Thresholds of the search and of the proof."""

    worth: float  # least expected gain of a run, relative to the minimum effect of the proof
    patience: int  # successive steps without a run of that gain after which the search ends
    looks: int  # runs of a comparison that decides whether a setting stays in the answer
    proves_shares: bool = False  # the contribution of each setting is proved, not only estimated


EFFORTS = {
    # The proof does not call a gain below half of the minimum effect, so that a run for it is wasted.
    "quick": Effort(worth=1.0, patience=1, looks=1),
    "normal": Effort(worth=0.5, patience=3, looks=2),
    "thorough": Effort(worth=0.1, patience=4, looks=8, proves_shares=True),
}
NORMAL = EFFORTS["normal"]
