! Writes small records, formatted and unformatted, into two files of each rank.
program records
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    function mpi_begin(argc, argv) bind(c, name="MPI_Init") result(status)
      import
      type(c_ptr), value :: argc, argv
      integer(c_int) :: status
    end function
    function mpi_end() bind(c, name="MPI_Finalize") result(status)
      import
      integer(c_int) :: status
    end function
  end interface
  character(len=20), parameter :: rank_names(3) = &
      [character(len=20) :: "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"]
  integer :: records_wanted, status, formatted, plain, which
  character(len=32) :: text, name
  call get_command_argument(1, text)
  read (text, *) records_wanted
  status = mpi_begin(c_null_ptr, c_null_ptr)
  do which = 1, size(rank_names)
    call get_environment_variable(trim(rank_names(which)), name, status=status)
    if (status == 0) exit
  end do
  open (newunit=formatted, file="out/text."//trim(name), action="write", status="replace")
  open (newunit=plain, file="out/data."//trim(name), action="write", status="replace", &
      form="unformatted", access="stream")
  call write_all(records_wanted)
  close (formatted)
  close (plain)
  status = mpi_end()
contains
  subroutine write_all(count)
    integer, intent(in) :: count
    integer :: at
    do at = 1, count
      write (formatted, "(i8, 2f14.6)") at, at / 8.0, at / 16.0
      write (plain) at, at / 8.0d0
    end do
  end subroutine
end program
