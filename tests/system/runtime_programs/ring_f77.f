c     Ten rounds: two integers to the next rank, and a sum over all.
      program ring
      include 'mpif.h'
      integer r, n, e, q, i, got(10), v(2)
      double precision a
      call MPI_INIT(e)
      call MPI_COMM_RANK(MPI_COMM_WORLD, r, e)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, n, e)
      do i = 1, 10
        call MPI_IRECV(got, 10, MPI_INTEGER, mod(r+n-1, n), 3,
     &                 MPI_COMM_WORLD, q, e)
        call MPI_SEND(v, 2, MPI_INTEGER, mod(r+1, n), 3,
     &                MPI_COMM_WORLD, e)
        call MPI_WAIT(q, MPI_STATUS_IGNORE, e)
        a = 1d0
        call MPI_ALLREDUCE(MPI_IN_PLACE, a, 1, MPI_DOUBLE_PRECISION,
     &                     MPI_SUM, MPI_COMM_WORLD, e)
      end do
      if (r .eq. 0) print *, 'sum', nint(a)
      call MPI_FINALIZE(e)
      end
