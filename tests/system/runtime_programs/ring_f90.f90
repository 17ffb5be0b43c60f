! Ten rounds: two integers to the next rank, and a sum over all.
program ring
  use mpi
  implicit none
  integer :: r, n, e, q, i, got(10), v(2)
  double precision :: a
  call MPI_Init(e)
  call MPI_Comm_rank(MPI_COMM_WORLD, r, e)
  call MPI_Comm_size(MPI_COMM_WORLD, n, e)
  do i = 1, 10
    call MPI_Irecv(got, 10, MPI_INTEGER, mod(r+n-1, n), 3, MPI_COMM_WORLD, q, e)
    call MPI_Send(v, 2, MPI_INTEGER, mod(r+1, n), 3, MPI_COMM_WORLD, e)
    call MPI_Wait(q, MPI_STATUS_IGNORE, e)
    a = 1d0
    call MPI_Allreduce(MPI_IN_PLACE, a, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, e)
  end do
  if (r == 0) print *, 'sum', nint(a)
  call MPI_Finalize(e)
end program
