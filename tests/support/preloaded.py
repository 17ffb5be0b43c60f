"""Functions shared by tests of the preloaded runtime."""

from pathlib import Path

from mpiric.model.record import Record

NATIVE = Path(__file__).parents[2] / "src/mpiric/_native"
OVERSUBSCRIBE = {"openmpi": ["--oversubscribe"], "mpich": []}  # options of the launcher


def calls(record: Record, function: str) -> list[int]:
    """Return the number of calls of a function for each rank."""
    return [sum(cell.calls for cell in rank.cells if cell.function == function) for rank in record.ranks]
