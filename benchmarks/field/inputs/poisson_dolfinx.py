"""Poisson's equation with DOLFINx, as in its demo, on a fixed mesh."""

import numpy as np
import ufl
from dolfinx import fem, mesh
from mpi4py import MPI
from petsc4py import PETSc

domain = mesh.create_unit_square(MPI.COMM_WORLD, 96, 96)
space = fem.FunctionSpace(domain, ("Lagrange", 1))
facets = mesh.locate_entities_boundary(domain, 1, lambda x: np.isclose(x[0], 0.0) | np.isclose(x[0], 1.0))
dofs = fem.locate_dofs_topological(space, 1, facets)
boundary = fem.dirichletbc(PETSc.ScalarType(0), dofs, space)
u, v = ufl.TrialFunction(space), ufl.TestFunction(space)
a = ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx
right = fem.Constant(domain, PETSc.ScalarType(1.0)) * v * ufl.dx
problem = fem.petsc.LinearProblem(
    a, right, bcs=[boundary], petsc_options={"ksp_type": "cg", "pc_type": "jacobi"}
)
solution = problem.solve()
norm = solution.vector.norm()
if domain.comm.rank == 0:
    print(f"norm {norm:.8e}")
