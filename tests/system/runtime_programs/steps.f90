! Steps without end, each printed; what is printed lies in the buffers of the Fortran library.
program steps
  use mpi
  implicit none
  integer :: rank, step, code
  double precision :: value, total
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  if (rank == 0) open (unit=17, file='steps.txt')
  do step = 1, 2000000000
     value = rank + step
     call MPI_Allreduce(value, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, code)
     if (rank == 0) write (*, *) 'step', step, total
     if (rank == 0) write (17, *) 'step', step
  end do
  call MPI_Finalize(code)
end program steps
