! A program whose output is the same under every MPI library: what Fortran's bindings make of handles, sentinels, logicals,
! characters, attributes and callbacks. Built with mpif.h, or with mpi_f08 where F08 is defined.
module callbacks
#ifdef F08
  use mpi_f08
#else
  use mpi
#endif
  implicit none
  integer :: copied = 0, deleted = 0, handled = 0
#ifdef F08
#define COMM type(MPI_Comm)
#define TYPE_OF_DATA type(MPI_Datatype)
#define VALUE(x) x%MPI_VAL
#else
#define COMM integer
#define TYPE_OF_DATA integer
#define VALUE(x) x
#endif
contains
#ifdef F08
  subroutine larger(from, into, count, datatype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: from, into
    integer :: count
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(from, a, [count])
    call c_f_pointer(into, b, [count])
    if (datatype /= MPI_INTEGER) a = -1
    b = max(a, b)
  end subroutine
#else
  subroutine larger(from, into, count, datatype)
    integer :: count, datatype, from(count), into(count)
    if (datatype /= MPI_INTEGER) from = -1
    into = max(from, into)
  end subroutine
#endif
  subroutine copy(from, keyval, state, given, made, flag, ierror)
    COMM :: from
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: state, given, made
    logical :: flag
    copied = copied + int(state)
    made = given + 1
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine remove(from, keyval, given, state, ierror)
    COMM :: from
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: state, given
    deleted = deleted + int(given)
    ierror = MPI_SUCCESS
  end subroutine
  subroutine handle(where, code)
    COMM :: where
    integer :: code, class, ierror
    call MPI_Error_class(code, class, ierror)
    if (class == MPI_ERR_RANK) handled = handled + 1
  end subroutine
end module

program translated
  use callbacks
  implicit none
  integer :: rank, ranks, ierror, i, keyval, count, values(3), sums(3), length, sizes(2)
  integer(MPI_ADDRESS_KIND) :: attribute, lowest, extent, displacements(2)
  integer(MPI_OFFSET_KIND) :: bytes
  logical :: flag, periods(2)
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=20) :: info_value
  character(len=MPI_MAX_ERROR_STRING) :: text
  double precision :: start
  COMM :: comm, grid, line, graph
  TYPE_OF_DATA :: vector, pair, types(2)
#ifdef F08
  type(MPI_Op) :: op
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status, statuses(2)
  type(MPI_Group) :: group
  type(MPI_Info) :: info
  type(MPI_Errhandler) :: handler
  type(MPI_File) :: file
  type(MPI_Win) :: win
#else
  integer :: op, requests(2), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2), group, info, handler, file, win
#endif
  integer, asynchronous :: out(4), in(4)

  call MPI_Init(ierror)
  start = MPI_Wtime()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call MPI_Initialized(flag, ierror)
  call tell('initialized', merge(1, 0, flag))

  values = [rank, 2 * rank, 3]
  call MPI_Op_create(larger, .true., op, ierror)
  call MPI_Allreduce(values, sums, 3, MPI_INTEGER, op, MPI_COMM_WORLD, ierror)
  call tell('operation', sum(sums))
  call MPI_Op_free(op, ierror)
  call MPI_Allreduce(MPI_IN_PLACE, values, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call tell('in place', sum(values))

  out = rank + [1, 2, 3, 4]
  in = 0
  call MPI_Irecv(in, 4, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Isend(out, 4, MPI_INTEGER, ranks - 1 - rank, 7, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Waitall(2, requests, statuses, ierror)
  call MPI_Get_count(statuses&
#ifndef F08
    (:, &
#else
    (&
#endif
    1), MPI_INTEGER, count, ierror)
  call tell('received', sum(in) - 4 * (ranks - 1 - rank) + count)
  call tell('null requests', merge(1, 0, requests(1) == MPI_REQUEST_NULL .and. requests(2) == MPI_REQUEST_NULL))
  call MPI_Type_vector(2, 1, 2, MPI_INTEGER, vector, ierror)
  call MPI_Type_commit(vector, ierror)
  types = [MPI_INTEGER, MPI_DOUBLE_PRECISION]
  displacements = [0, 8]
  call MPI_Type_create_struct(2, [1, 1], displacements, types, pair, ierror)
  call MPI_Type_get_extent(pair, lowest, extent, ierror)
  call tell('extent', int(extent))
  in = 0
  call MPI_Sendrecv(out, 1, vector, 0, 1, in, 1, vector, 0, 1, MPI_COMM_SELF, status, ierror)
  call tell('vector', merge(1, 0, all(in == [out(1), 0, out(3), 0])))
  call MPI_Type_free(vector, ierror)
  call MPI_Type_free(pair, ierror)

  call MPI_Comm_create_keyval(copy, remove, keyval, 5_MPI_ADDRESS_KIND, ierror)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, 40_MPI_ADDRESS_KIND, ierror)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
  call MPI_Comm_get_attr(comm, keyval, attribute, flag, ierror)
  call tell('attribute', int(attribute) + merge(100, 0, flag))
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval, ierror)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, attribute, flag, ierror)
  call tell('largest tag', merge(1, 0, flag .and. attribute >= 32767))
  call MPI_Comm_create_errhandler(handle, handler, ierror)
  call MPI_Comm_set_errhandler(comm, handler, ierror)
  call MPI_Send(out, 1, MPI_INTEGER, ranks + 5, 0, comm, ierror)
  call tell('handler', handled)
  call MPI_Error_string(MPI_ERR_RANK, text, length, ierror)
  call tell('error string', merge(1, 0, length > 3 .and. text(length:length) /= ' ' .and. len_trim(text) == length))
  call MPI_Comm_set_name(comm, 'a name   ', ierror)
  call MPI_Comm_get_name(comm, name, length, ierror)
  call tell('name', length + merge(100, 0, name == 'a name'))
  call MPI_Comm_free(comm, ierror)
  call tell('callbacks', copied * 100 + deleted)
  call MPI_Comm_free_keyval(keyval, ierror)

  call MPI_Cart_create(MPI_COMM_WORLD, 2, [ranks, 1], [.true., .false.], .false., grid, ierror)
  call MPI_Cart_get(grid, 2, sizes, periods, values, ierror)
  call tell('grid', sizes(1) * 10 + sizes(2) + merge(100, 0, periods(1)) + merge(0, 1000, periods(2)))
  call MPI_Cart_sub(grid, [.true., .false.], line, ierror)
  call MPI_Comm_size(line, count, ierror)
  call tell('line', count)
  call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [rank], [1], [ranks - 1 - rank], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., &
    graph, ierror)
  call MPI_Dist_graph_neighbors_count(graph, sizes(1), sizes(2), flag, ierror)
  call tell('graph without weights', sizes(1) * 10 + sizes(2) + merge(100, 0, flag))
  call MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, comm, ierror)
  call tell('no communicator', merge(1, 0, comm == MPI_COMM_NULL))
  call MPI_Comm_group(MPI_COMM_WORLD, group, ierror)
  call MPI_Group_size(group, count, ierror)
  call tell('group', count)

  call MPI_Info_create(info, ierror)
  call MPI_Info_set(info, ' key ', ' value ', ierror)
  call MPI_Info_get(info, 'key', 20, info_value, flag, ierror)
  call tell('info', merge(1, 0, flag .and. info_value == 'value'))
  call MPI_Get_address(out(1), displacements(1), ierror)
  call MPI_Get_address(out(2), displacements(2), ierror)
  call tell('addresses', int(MPI_Aint_diff(displacements(2), displacements(1))))

  bytes = 4
  call MPI_Win_create(in, 4 * bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, attribute, flag, ierror)
  call tell('window', int(attribute) + merge(100, 0, flag))
  call MPI_Win_free(win, ierror)
  call get_command_argument(1, text)
  call MPI_File_open(MPI_COMM_WORLD, trim(text)//'  ', ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, file, ierror)
  call MPI_File_set_view(file, bytes * rank, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierror)
  call MPI_File_write_all(file, rank, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call MPI_File_get_size(file, bytes, ierror)
  call MPI_File_close(file, ierror)
  call tell('file', int(bytes) / ranks + merge(0, 100, file == MPI_FILE_NULL))
  call tell('time', merge(1, 0, MPI_Wtime() >= start))
  call MPI_Finalize(ierror)
contains
  subroutine tell(what, value)
    character(*), intent(in) :: what
    integer, intent(in) :: value
    integer :: total, code
    call MPI_Reduce(value, total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, code)
    if (rank == 0) print '(a, 1x, i0)', what, total
  end subroutine
end program
