"""``python -m mpiric`` is the ``mpiric`` command."""

from mpiric.cli.main import main

main()
