"""A collective policy in each library's own form, so that the gain of its own algorithms needs no mpiric."""

from collections.abc import Callable

from mpiric.model.errors import MismatchError
from mpiric.model.policy import Policy
from mpiric.mpis._exports import intelmpi, mpich, openmpi
from mpiric.mpis._exports._exported import Defaults, Exported

__all__ = ["Defaults", "Exported", "export"]

_EXPORTERS: dict[str, Callable[[Policy, Defaults], Exported]] = {
    "intelmpi": intelmpi.export,
    "mpich": mpich.export,
    "openmpi": openmpi.export,
}


def export(policy: Policy, defaults: Defaults = ()) -> Exported:
    """Files and variables with which the library chooses by itself what the policy chooses.

    ``defaults``: the decision trees built into the library, as MPICH has them; others need none.
    Raises MismatchError for a library that reads no such thing.
    """
    exporter = _EXPORTERS.get(policy.implementation)
    if exporter is None:
        raise MismatchError(
            f"{policy.implementation} reads no tuning file that mpiric can write",
            hint=f"those that do: {', '.join(_EXPORTERS)}",
        )
    return exporter(policy, defaults)
