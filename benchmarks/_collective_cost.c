// `_collective_cost COLLECTIVE BYTES CALLS [COMMUNICATORS]`: that many calls on all ranks, on copies of the
// world in turns; rank 0 prints the seconds of all and the nanoseconds a call of the best of ten parts.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 16
static char *out, *in;
static int bytes, ranks, copies = 1;
static MPI_Comm comms[MOST];

static void allreduce(MPI_Comm on) { MPI_Allreduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, on); }
static void bcast(MPI_Comm on) { MPI_Bcast(out, bytes, MPI_CHAR, 0, on); }
static void alltoall(MPI_Comm on) { MPI_Alltoall(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, on); }

int main(int argc, char** argv) {
    int rank;
    if (argc > 4)
        copies = atoi(argv[4]);
    if (argc < 4 || copies < 1 || copies > MOST)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bytes = atoi(argv[2]);
    out = calloc((size_t)ranks, (size_t)bytes);
    in = calloc((size_t)ranks, (size_t)bytes);
    for (int at = 0; at < copies; ++at)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[at]);
    void (*call)(MPI_Comm) = argv[1][0] == 'b' ? bcast : strcmp(argv[1], "alltoall") ? allreduce : alltoall;
    const int part = atoi(argv[3]) / 10 / copies;
    double best = 1e30;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int pass = 0; pass < 10; ++pass) {
        const double start = MPI_Wtime();
        for (int round = 0; round < part; ++round)
            for (int at = 0; at < copies; ++at)
                call(comms[at]);
        const double each = (MPI_Wtime() - start) / part / copies;
        best = each < best ? each : best;
    }
    if (rank == 0)
        printf("%.9f %.2f\n", MPI_Wtime() - begin, best * 1e9);
    MPI_Finalize();
    return 0;
}
