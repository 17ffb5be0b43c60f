"""What MPI libraries print of their connections, when variables make them."""

from collections.abc import Mapping

from mpiric.model.fabric import TransportReport
from mpiric.mpis._implementation import implementations


def ask_connections(implementation: str) -> Mapping[str, str]:
    """Variables that make a library print what carries its messages."""
    found = implementations().get(implementation)
    return found.ask_connections if found else {}


def connections(implementation: str, text: str) -> TransportReport:
    """Connections as a library reports them in all that a run printed; empty when it reports none."""
    found = implementations().get(implementation)
    return found.connections(text) if found else TransportReport()
