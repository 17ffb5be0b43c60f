"""Poisson's equation in two dimensions by conjugate gradients of PETSc."""

import sys

import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402 - after init, which reads the options

n = 200
grid = PETSc.DMDA().create([n, n], stencil_width=1)
matrix = grid.createMatrix()
(x0, x1), (y0, y1) = grid.getRanges()
row, column = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
for j in range(y0, y1):
    for i in range(x0, x1):
        row.index = (i, j)
        for di, dj, value in ((0, 0, 4.0), (1, 0, -1.0), (-1, 0, -1.0), (0, 1, -1.0), (0, -1, -1.0)):
            if 0 <= i + di < n and 0 <= j + dj < n:
                column.index = (i + di, j + dj)
                matrix.setValueStencil(row, column, value)
matrix.assemble()
right, solution = matrix.createVecs()
right.set(1.0)
solver = PETSc.KSP().create()
solver.setOperators(matrix)
solver.setType("cg")
solver.getPC().setType("jacobi")
solver.setTolerances(rtol=1e-8)
solver.solve(right, solution)
PETSc.Sys.Print(f"iterations {solver.getIterationNumber()} norm {solution.norm():.8e}")
