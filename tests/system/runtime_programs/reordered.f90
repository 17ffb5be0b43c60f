! The world's order as Fortran sees it, through `mpi` and callbacks; prints what is wrong.
module callbacks
  use mpi
  implicit none
  integer :: copied = 0, handled = 0
contains
  subroutine copy(from, key, extra, value, result, flag, ierror)
    integer :: from, key, ierror
    integer(MPI_ADDRESS_KIND) :: extra, value, result
    logical :: flag
    if (from == MPI_COMM_WORLD .and. extra == 42) copied = copied + 1
    result = value
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine drop(from, key, value, extra, ierror)
    integer :: from, key, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra
    ierror = MPI_SUCCESS
  end subroutine
  subroutine handle(comm, code)
    integer :: comm, code
    if (comm == MPI_COMM_WORLD .and. code /= MPI_SUCCESS) handled = handled + 1
  end subroutine
end module

program reordered
  use mpi
  use callbacks
  implicit none
  integer :: rank, ranks, left, right, got, ierror, status(MPI_STATUS_SIZE), key, twin, handler, wrong, any
  integer(MPI_ADDRESS_KIND) :: value
  logical :: flag
  character(len=64) :: slots, text
  wrong = 0
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call get_command_argument(1, slots)
  call get_environment_variable('PMI_RANK', text)
  if (text == '') call get_environment_variable('OMPI_COMM_WORLD_RANK', text)
  if (trim(text) /= slots(rank + 1:rank + 1)) call report('slot')
  left = modulo(rank - 1, ranks)
  right = modulo(rank + 1, ranks)
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, right, 3, got, 1, MPI_INTEGER, left, 3, MPI_COMM_WORLD, status, ierror)
  if (got /= left .or. status(MPI_SOURCE) /= left) call report('message')
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierror)
  if (.not. flag .or. value < 32767) call report('MPI_TAG_UB')
  call MPI_Comm_create_keyval(copy, drop, key, 42_MPI_ADDRESS_KIND, ierror)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, key, 7_MPI_ADDRESS_KIND, ierror)
  value = 0
  call MPI_Comm_get_attr(MPI_COMM_WORLD, key, value, flag, ierror)
  if (.not. flag .or. value /= 7) call report('own attribute')
  call MPI_Comm_dup(MPI_COMM_WORLD, twin, ierror)
  if (copied /= 1) call report('handle in copy')
  value = 0
  call MPI_Comm_get_attr(twin, key, value, flag, ierror)
  if (.not. flag .or. value /= 7) call report('copied attribute')
  call MPI_Comm_free(twin, ierror)
  call MPI_Comm_create_errhandler(handle, handler, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler, ierror)
  call MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER, ierror)
  if (handled /= 1) call report('handle in error handler')
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierror)
  call MPI_Reduce(wrong, any, 1, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, ierror)
  if (rank == 0 .and. any == 0) print '(a)', 'all right'
  call MPI_Finalize(ierror)
contains
  subroutine report(what)
    character(len=*) :: what
    wrong = 1
    print '(a,i0,2a)', 'rank ', rank, ': wrong: ', what
  end subroutine
end program
