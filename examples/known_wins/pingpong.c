/* Small messages between two ranks, 200,000 of them unless told otherwise: bound by latency.
 *
 * Shows: MPICH leaves ranks unbound; the scheduler then moves them about and each message pays for it.
 *   mpiric tune -- mpiexec -n 2 ./pingpong
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    int rank, ranks;
    long ball = 0, rounds = argc > 1 ? atol(argv[1]) : 200000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        fprintf(stderr, "pingpong needs 2 ranks\n");
        MPI_Finalize();
        return 2;
    }
    for (long round = 0; round < rounds; round++) {
        if (rank == round % 2) {
            ball++;
            MPI_Send(&ball, 1, MPI_LONG, !rank, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&ball, 1, MPI_LONG, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    if (rank == 0)
        printf("the ball was hit %ld times\n", ball);
    MPI_Finalize();
    return 0;
}
