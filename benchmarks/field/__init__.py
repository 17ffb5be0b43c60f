"""Compare `mpiric tune` with commands of an expert on real programs: gains, claims, rejections."""
