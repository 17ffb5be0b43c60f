mpiric completion fish | source
