"""Parallel, network and local file systems, one module each: recognition, facts and layouts.

Each module without a leading underscore declares a `Storage`; the name of the module is its name.
"""

from mpiric.storage._drivers import served_by
from mpiric.storage._mounts import holding, read_mounts
from mpiric.storage._read import layouts_of, read_storage
from mpiric.storage._storage import Storage, recognise, storages

__all__ = [
    "Storage",
    "holding",
    "layouts_of",
    "read_mounts",
    "read_storage",
    "recognise",
    "served_by",
    "storages",
]
