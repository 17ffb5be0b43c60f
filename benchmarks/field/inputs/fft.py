"""Spectral derivative on a periodic cube, many times, by mpi4py-fft."""

import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

fft = PFFT(MPI.COMM_WORLD, [48, 48, 48], axes=(0, 1, 2), dtype=float)
u = newDistArray(fft, forward_output=False)
u[:] = np.random.default_rng(MPI.COMM_WORLD.rank).random(u.shape)
for _ in range(60):
    u_hat = fft.forward(u, normalize=True)
    u = fft.backward(u_hat, u)
total = MPI.COMM_WORLD.allreduce(float(np.sum(u * u)))
if MPI.COMM_WORLD.rank == 0:
    print(f"energy {total:.8e}")
