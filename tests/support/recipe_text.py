"""The text of a recipe that sets binding and allocator, as someone could have written it by hand."""


def recipe_text(name: str, launcher: str, implementation: str, version: str, abi: str) -> str:
    """Return a recipe for the program ``name`` with a launcher and an MPI library, for any machine."""
    return f"""
mpiric_recipe = 1
name = "{name}"
created = "2026-11-21T08:00:00Z"
mpiric_version = "0.1.0"
command = ["{launcher}", "{name}"]
checked_output = "learned"
[configuration]
binding = "core"
malloc = "keep-memory"
[fingerprint.machine]
[fingerprint.mpi]
implementation = "{implementation}"
version = "{version}"
abi = "{abi}"
[fingerprint.program]
name = "{name}"
launcher = "{launcher}"
"""
