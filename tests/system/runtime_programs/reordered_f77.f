c     The world's order as Fortran sees it through `mpif.h`; prints what
c     is wrong.
      program reordered
      include 'mpif.h'
      integer r, n, e, i, got, left, right, bad, any, half, inside
      integer world, group, mine(1), theirs(1), all(64), q(2)
      integer s(MPI_STATUS_SIZE), t(MPI_STATUS_SIZE, 2), ring
      integer dims(1), place(1)
      logical wraps(1)
      character*64 slots, text
      bad = 0
      call MPI_INIT(e)
      call MPI_COMM_RANK(MPI_COMM_WORLD, r, e)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, n, e)
      call getarg(1, slots)
      call getenv('PMI_RANK', text)
      if (text .eq. ' ') call getenv('OMPI_COMM_WORLD_RANK', text)
      if (text(1:1) .ne. slots(r+1:r+1)) bad = 1
      left = mod(r + n - 1, n)
      right = mod(r + 1, n)
      call MPI_SENDRECV(r, 1, MPI_INTEGER, right, 3, got, 1,
     &                  MPI_INTEGER, left, 3, MPI_COMM_WORLD, s, e)
      if (got .ne. left .or. s(MPI_SOURCE) .ne. left) bad = 2
      call MPI_IRECV(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, 4,
     &               MPI_COMM_WORLD, q(1), e)
      call MPI_ISEND(r, 1, MPI_INTEGER, left, 4, MPI_COMM_WORLD,
     &               q(2), e)
      call MPI_WAITALL(2, q, t, e)
      if (got .ne. right .or. t(MPI_SOURCE, 1) .ne. right) bad = 3
      call MPI_ALLGATHER(r, 1, MPI_INTEGER, all, 1, MPI_INTEGER,
     &                   MPI_COMM_WORLD, e)
      do i = 1, n
        if (all(i) .ne. i - 1) bad = 4
      end do
      call MPI_COMM_GROUP(MPI_COMM_WORLD, world, e)
      call MPI_COMM_SPLIT(MPI_COMM_WORLD, mod(r, 2), r, half, e)
      call MPI_COMM_GROUP(half, group, e)
      call MPI_COMM_RANK(half, inside, e)
      mine(1) = inside
      call MPI_GROUP_TRANSLATE_RANKS(group, 1, mine, world, theirs, e)
      if (theirs(1) .ne. r .or. inside .ne. r / 2) bad = 5
      dims(1) = n
      wraps(1) = .true.
      call MPI_CART_CREATE(MPI_COMM_WORLD, 1, dims, wraps, .true.,
     &                     ring, e)
      call MPI_CART_COORDS(ring, r, 1, place, e)
      if (place(1) .ne. r) bad = 6
      call MPI_ALLREDUCE(bad, any, 1, MPI_INTEGER, MPI_MAX,
     &                   MPI_COMM_WORLD, e)
      if (r .eq. 0 .and. any .eq. 0) print '(a)', 'all right'
      if (bad .ne. 0) print '(a, i1)', 'wrong at ', bad
      call MPI_COMM_FREE(half, e)
      call MPI_COMM_FREE(ring, e)
      call MPI_FINALIZE(e)
      end
