"""Effort: runs that a tune spends on the last per cent of an answer, and on the shares of its settings."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """Thresholds of the search and of the proof; gains are relative to the minimum effect of the proof."""

    worth: float  # expected gain below which a run is not made
    patience: int  # times in a row that nothing is worth a run before the search ends
    looks: int  # runs of a comparison that decides whether a setting stays in the answer
    proves_shares: bool = False  # whether what each setting contributes is proved, not only estimated


EFFORTS = {
    # A gain below half of the minimum effect is not called by the proof, so that a run for it is wasted.
    "quick": Effort(worth=1.0, patience=1, looks=1),
    "normal": Effort(worth=0.5, patience=3, looks=2),
    "thorough": Effort(worth=0.1, patience=4, looks=8, proves_shares=True),
}
NORMAL = EFFORTS["normal"]
