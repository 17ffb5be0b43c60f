"""Transports of a run according to the output of an MPI library and the layers below it."""

from mpiric.fabric.probe import read_report
from mpiric.model.fabric import TransportReport
from mpiric.mpis import connections


def transports_in(text: str, implementation: str) -> TransportReport:
    return read_report(text, connections(implementation, text))
