"""Numbers as reports print them."""

from collections.abc import Mapping

from mpiric.model.amount import share
from mpiric.model.profile import Advice, Profile

_ASKED_BYTES = 16 << 20  # the runtime asks for the huge pages of ranks with more memory of their own


def on_huge_pages(numbers: Mapping[str, float]) -> str:
    """``34 % on huge pages``, "" where nobody has asked."""
    asked = numbers["anonymous_bytes"] >= numbers["ranks"] * _ASKED_BYTES
    return f"{share(numbers['huge_share'])} on huge pages" if asked else ""


def expectation(advice: Advice) -> str:
    """What following an advice would bring, as far as it can be told before it is tried."""
    if advice.expected_share is not None:
        expected = share(advice.expected_share)
        expected_text = f"{'' if expected.startswith('<') else 'about '}{expected} of the run time"
        bound = advice.gain_share > advice.expected_share * 1.005
        return f"{expected_text}, at the very most {share(advice.gain_share)}" if bound else expected_text
    trial = "a trial tells" if advice.knobs else ""
    most = f"up to {share(advice.gain_share)} of the run time" if advice.gain_share else ""
    return "; ".join(filter(None, (most, trial))) or "not known"


def count(value: float) -> str:
    """``1,234,567``."""
    return f"{value:,.0f}"


def library(profile: Profile) -> str:
    """``Open MPI v4.1.4, ob1 over self tcp, allreduce by ring``: with what it says it uses."""
    used = {use.name.removeprefix("MPI_").lower() for use in profile.functions}
    said = [f"{name} by {algorithm}" for name, algorithm in profile.library.items() if name in used]
    return ", ".join(filter(None, (profile.mpi, profile.library.get("transport"), *said)))
