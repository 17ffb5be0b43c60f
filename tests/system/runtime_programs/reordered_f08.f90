! The world's order as Fortran sees it through `mpi_f08`, whose handles are types; prints what is wrong.
module callbacks
  use mpi_f08
  implicit none
  integer :: copied = 0, handled = 0
contains
  subroutine copy(from, key, extra, value, result, flag, ierror)
    type(MPI_Comm) :: from
    integer :: key, ierror
    integer(MPI_ADDRESS_KIND) :: extra, value, result
    logical :: flag
    if (from == MPI_COMM_WORLD .and. extra == 42) copied = copied + 1
    result = value
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine drop(from, key, value, extra, ierror)
    type(MPI_Comm) :: from
    integer :: key, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra
    ierror = MPI_SUCCESS
  end subroutine
  subroutine handle(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    if (comm == MPI_COMM_WORLD .and. code /= MPI_SUCCESS) handled = handled + 1
  end subroutine
end module

program reordered
  use mpi_f08
  use callbacks
  implicit none
  integer :: rank, ranks, left, right, got, key, wrong, any, same, inside, request_rank
  integer :: dims(1), place(1), world_rank(1), group_rank(1), all(64)
  logical :: wraps(1), flag
  type(MPI_Comm) :: twin, ring, half
  type(MPI_Group) :: group, world
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status
  type(MPI_Errhandler) :: handler
  integer(MPI_ADDRESS_KIND) :: value
  character(len=64) :: slots, text
  wrong = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call get_command_argument(1, slots)
  call get_environment_variable('PMI_RANK', text)
  if (text == '') call get_environment_variable('OMPI_COMM_WORLD_RANK', text)
  if (trim(text) /= slots(rank + 1:rank + 1)) call report('slot')
  left = modulo(rank - 1, ranks)
  right = modulo(rank + 1, ranks)
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, right, 3, got, 1, MPI_INTEGER, left, 3, MPI_COMM_WORLD, status)
  if (got /= left .or. status%MPI_SOURCE /= left) call report('message')
  call MPI_Irecv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(rank, 1, MPI_INTEGER, left, 4, MPI_COMM_WORLD, requests(2))
  call MPI_Wait(requests(1), status)
  request_rank = status%MPI_SOURCE
  call MPI_Wait(requests(2), MPI_STATUS_IGNORE)
  if (got /= right .or. request_rank /= right) call report('request')
  call MPI_Allgather(rank, 1, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD)
  if (any_misplaced()) call report('collective')
  call MPI_Comm_group(MPI_COMM_WORLD, world)
  call MPI_Comm_split(MPI_COMM_WORLD, modulo(rank, 2), rank, half)
  call MPI_Comm_group(half, group)
  call MPI_Comm_rank(half, inside)
  group_rank = inside
  call MPI_Group_translate_ranks(group, 1, group_rank, world, world_rank)
  if (world_rank(1) /= rank .or. inside /= rank / 2) call report('group')
  dims = ranks
  wraps = .true.
  call MPI_Cart_create(MPI_COMM_WORLD, 1, dims, wraps, .true., ring)
  call MPI_Cart_coords(ring, rank, 1, place)
  if (place(1) /= rank) call report('grid')
  call MPI_Comm_create_keyval(copy, drop, key, 42_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, key, 7_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(MPI_COMM_WORLD, twin)
  if (copied /= 1) call report('handle in copy')
  call MPI_Comm_compare(MPI_COMM_WORLD, twin, same)
  if (same /= MPI_CONGRUENT) call report('compared')
  value = 0
  call MPI_Comm_get_attr(twin, key, value, flag)
  if (.not. flag .or. value /= 7) call report('copied attribute')
  call MPI_Comm_free(twin)
  call MPI_Comm_create_errhandler(handle, handler)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler)
  call MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER)
  if (handled /= 1) call report('handle in an error handler')
  call MPI_Allreduce(wrong, any, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
  if (rank == 0 .and. any == 0) print '(a)', 'all right'
  call MPI_Comm_free(half)
  call MPI_Comm_free(ring)
  call MPI_Finalize()
contains
  logical function any_misplaced()
    integer :: i
    any_misplaced = .false.
    do i = 1, ranks
      if (all(i) /= i - 1) any_misplaced = .true.
    end do
  end function
  subroutine report(what)
    character(len=*), intent(in) :: what
    wrong = 1
    print '(a, i0, 2a)', 'rank ', rank, ': ', what
  end subroutine
end program
