"""The ``mpiric`` command, as ``python -m mpiric`` and as ``python …/mpiric/__main__.py``."""

import sys

# Started by its path, as mpiric's own jobs are, Python looks for modules in this directory first.
if not __package__ and sys.path[:1] == [__file__.rpartition("/")[0]]:
    sys.path[:1] = []
    package_root = __file__.rpartition("/")[0].rpartition("/")[0]
    if package_root not in sys.path:
        sys.path.append(package_root)

from mpiric.cli.main import main

main()
