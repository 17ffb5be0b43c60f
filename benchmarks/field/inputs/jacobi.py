"""Jacobi iterations on strips of a plane, neighbours exchanged by mpi4py."""

import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rows, columns = 202, 400
u = np.zeros((rows, columns))
u[:, 0] = 1.0
up = world.rank - 1 if world.rank else MPI.PROC_NULL
down = world.rank + 1 if world.rank + 1 < world.size else MPI.PROC_NULL
for step in range(int(sys.argv[1])):
    world.Sendrecv(u[1], up, recvbuf=u[-1], source=down)
    world.Sendrecv(u[-2], down, recvbuf=u[0], source=up)
    v = u.copy()
    v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    change = world.allreduce(float(np.abs(v - u).max()), MPI.MAX)
    u = v
    if world.rank == 0 and step % 100 == 99:
        print(f"step {step + 1} change {change:.8e}")
