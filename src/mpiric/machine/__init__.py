"""Text read from a host → Machine."""

from mpiric.machine.noticing import notice
from mpiric.machine.reading import read_machine
from mpiric.machine.topology import load_topology
from mpiric.machine.topology_xml import read_topology
