// `_collective_cost COLLECTIVE BYTES CALLS`: that many calls on all ranks; rank 0 prints the seconds of all
// and the nanoseconds a call of the best of ten parts.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *out, *in;
static int bytes, ranks;

static void allreduce(void) { MPI_Allreduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void bcast(void) { MPI_Bcast(out, bytes, MPI_CHAR, 0, MPI_COMM_WORLD); }
static void alltoall(void) { MPI_Alltoall(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, MPI_COMM_WORLD); }

int main(int argc, char** argv) {
    int rank;
    if (argc != 4)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bytes = atoi(argv[2]);
    out = calloc((size_t)ranks, (size_t)bytes);
    in = calloc((size_t)ranks, (size_t)bytes);
    void (*call)(void) = argv[1][0] == 'b' ? bcast : strcmp(argv[1], "alltoall") ? allreduce : alltoall;
    const int part = atoi(argv[3]) / 10;
    double best = 1e30;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int pass = 0; pass < 10; ++pass) {
        const double start = MPI_Wtime();
        for (int one = 0; one < part; ++one)
            call();
        const double each = (MPI_Wtime() - start) / part;
        best = each < best ? each : best;
    }
    if (rank == 0)
        printf("%.9f %.2f\n", MPI_Wtime() - begin, best * 1e9);
    MPI_Finalize();
    return 0;
}
