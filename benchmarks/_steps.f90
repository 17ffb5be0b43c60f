! Steps of a sum over all ranks and a message round a ring, in Fortran.
program steps
  use mpi
  implicit none
  integer :: step, rank, ranks, error
  double precision :: part, total, got
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  total = rank + 1.0d0
  got = 0.0d0
  do step = 1, 3000000
    part = total / 3.0d0 + mod(step, 5)
    call MPI_Allreduce(part, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call MPI_Sendrecv(total, 1, MPI_DOUBLE_PRECISION, mod(rank + 1, ranks), 0, got, 1, &
      MPI_DOUBLE_PRECISION, mod(rank + ranks - 1, ranks), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    if (rank == 0 .and. mod(step, 300000) == 0) print *, step, total
  end do
  call MPI_Finalize(error)
end program steps
