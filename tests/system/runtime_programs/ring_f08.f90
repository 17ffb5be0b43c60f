! Ten rounds: two integers to the next rank, and a sum over all.
program ring
  use mpi_f08
  implicit none
  integer :: r, n, i, got(10), v(2)
  type(MPI_Request) :: q
  double precision :: a
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, r)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  do i = 1, 10
    call MPI_Irecv(got, 10, MPI_INTEGER, mod(r+n-1, n), 3, MPI_COMM_WORLD, q)
    call MPI_Send(v, 2, MPI_INTEGER, mod(r+1, n), 3, MPI_COMM_WORLD)
    call MPI_Wait(q, MPI_STATUS_IGNORE)
    a = 1d0
    call MPI_Allreduce(MPI_IN_PLACE, a, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  end do
  if (r == 0) print *, 'sum', nint(a)
  call MPI_Finalize()
end program
