"""What an MPI library and the layers below it print of a run's transports, read as the workflows read it."""

from mpiric.fabric.words import listen
from mpiric.model.fabric import Words
from mpiric.mpis import connections


def heard(text: str, implementation: str) -> Words:
    return listen(text, connections(implementation, text))
