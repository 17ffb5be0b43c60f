/* Sums, broadcasts and barriers over all ranks, and a message to the next rank, with nothing to compute. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 4096 };
static double mine[COUNT], others[COUNT];

int main(int argc, char** argv) {
    int rank, ranks, rounds = argc > 1 ? atoi(argv[1]) : 20;
    double total = 0.0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < COUNT; i++)
        mine[i] = i % 7;
    for (int round = 0; round < rounds; round++) {
        MPI_Allreduce(mine, others, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Bcast(others, COUNT, MPI_DOUBLE, round % ranks, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        total += others[round];
        MPI_Sendrecv(mine, COUNT, MPI_DOUBLE, (rank + 1) % ranks, 0, others, COUNT, MPI_DOUBLE,
                     (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0)
        printf("total %.1f\n", total);
    MPI_Finalize();
    return 0;
}
