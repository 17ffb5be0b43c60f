"""Each rank writes its part of a data set into one HDF5 file and reads its neighbour's."""

import h5py
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
with h5py.File("field.h5", "w", driver="mpio", comm=world) as file:
    data = file.create_dataset("u", (world.size * 400_000,), dtype="f8")
    for step in range(10):
        data[world.rank * 400_000 : (world.rank + 1) * 400_000] = np.arange(400_000.0) * (step + world.rank)
with h5py.File("field.h5", "r", driver="mpio", comm=world) as file:
    other = (world.rank + 1) % world.size
    part = float(np.sum(file["u"][other * 400_000 : (other + 1) * 400_000]))
total = world.allreduce(part)
if world.rank == 0:
    print(f"sum {total:.8e}")
