"""A collective policy in each library's own form, so that the gain of its own algorithms needs no mpiric."""

from mpiric.model.errors import MismatchError
from mpiric.model.policy import Policy
from mpiric.mpis._implementation import Defaults, Exported, implementations


def export(policy: Policy, defaults: Defaults = ()) -> Exported:
    """Files and variables with which the library chooses by itself what the policy chooses.

    ``defaults``: the decision trees built into the library, as MPICH has them; others need none.
    Raises MismatchError for a library that reads no such thing.
    """
    exporters = {name: each.export for name, each in implementations().items() if each.export is not None}
    if policy.implementation not in exporters:
        raise MismatchError(
            f"{policy.implementation} reads no tuning file that mpiric can write",
            hint=f"those that do: {', '.join(sorted(exporters))}",
        )
    return exporters[policy.implementation](policy, defaults)


def embedded_defaults(implementation: str) -> bytes:
    """The first bytes of decision trees that a library has built in as text, empty when it has none."""
    found = implementations().get(implementation)
    return found.embedded_defaults if found else b""
