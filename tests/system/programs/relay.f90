! Fortran: a number goes round all ranks, each adds its own; then all ranks agree on it.
program relay
  implicit none
  include 'mpif.h'
  integer :: rank, ranks, next, previous, error, number, largest, round
  integer :: status(MPI_STATUS_SIZE), length
  character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: library
  double precision :: mine(1000), everyone(1000)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  next = mod(rank + 1, ranks)
  previous = mod(rank + ranks - 1, ranks)
  number = 0
  do round = 1, 200
    if (rank == 0) then
      call MPI_Send(number + 1, 1, MPI_INTEGER, next, round, MPI_COMM_WORLD, error)
      call MPI_Recv(number, 1, MPI_INTEGER, previous, round, MPI_COMM_WORLD, status, error)
    else
      call MPI_Recv(number, 1, MPI_INTEGER, previous, MPI_ANY_TAG, MPI_COMM_WORLD, status, error)
      call MPI_Send(number + 1, 1, MPI_INTEGER, next, status(MPI_TAG), MPI_COMM_WORLD, error)
    end if
  end do
  mine = rank + 1
  call MPI_Allreduce(mine, everyone, 1000, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Allreduce(MPI_IN_PLACE, everyone, 1000, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
  call MPI_Reduce(number, largest, 1, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, error)
  if (rank == 0) write (*, '(i0,a,i0,a,f0.1)') ranks, ' ranks: ', largest, ' and ', everyone(1000)
  call MPI_Get_library_version(library, length, error)
  if (rank == 0) write (0, '(2a)') 'under ', library(:length)
  call MPI_Finalize(error)
end program relay
