"""MPI implementations, one per file: recognition, capabilities and settings of the knobs.

The names below also find installed libraries.
"""

from mpiric.mpis._describe import launcher_text
from mpiric.mpis._discovery import find_mpis, mpi_of_launcher, mpi_of_library
from mpiric.mpis._implementation import (
    Exported,
    ask_connections,
    connections,
    defaults_of,
    embedded_defaults,
    export,
    export_files,
    foreign_settings,
    implementations,
    is_read_by_alone,
    packages,
    spell,
    variable_beginnings,
    with_capabilities,
)
from mpiric.mpis._locations import (
    abi_of_program,
    family_of_soname,
    libraries_needed_by,
    mpi_calls,
    mpi_names,
    mpi_needed_by,
    nailed_to,
    symbols,
)
