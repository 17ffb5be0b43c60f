/* Allreduce of 512 KiB with more ranks than cores.
 *
 * Shows: ranks that spin while they wait keep the core from the rank they wait for.
 *   mpiric tune -- mpiexec -n 4 ./oversubscribed        (on 2 cores)
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    enum { COUNT = 512 * 1024 / sizeof(double) };
    int rank, ranks, rounds = argc > 1 ? atoi(argv[1]) : 5;
    double *mine = malloc(COUNT * sizeof *mine), *sum = malloc(COUNT * sizeof *sum), total = 0.0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < COUNT; i++)
        mine[i] = (rank + 1) * (i % 7);
    for (int round = 0; round < rounds; round++) {
        MPI_Allreduce(mine, sum, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        total += sum[round];
    }
    if (rank == 0)
        printf("sum %.1f over %d ranks\n", total, ranks);
    MPI_Finalize();
    free(mine);
    free(sum);
    return 0;
}
