"""Parallel, network and local file systems, one module each: recognition, facts and layouts.

Each module without a leading underscore declares a `Storage`; the name of the module is its name.
"""

from mpiric.storage._storage import (
    Storage,
    holding,
    layouts_of,
    read_mounts,
    read_storage,
    recognise,
    served_by,
    storages,
)
