"""An mpi4py program: pi by the midpoint rule, summed over all ranks; objects and buffers are both sent."""

import sys
from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
steps = 20000
mine = sum(4.0 / (1.0 + ((i + 0.5) / steps) ** 2) for i in range(world.rank, steps, world.size)) / steps
total = array("d", [0.0])
world.Allreduce(array("d", [mine]), total)
names = world.gather(f"rank {world.rank}", root=0)
if world.rank == 0:
    print(f"pi is {total[0]:.9f}, says {' and '.join(names)}")
    print("under", MPI.Get_library_version(), file=sys.stderr)
