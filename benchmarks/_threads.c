/* Each rank repeats a short parallel loop, then all add up a number: a hybrid program with little work. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 200000 };
static int values[COUNT];

int main(int argc, char** argv) {
    int rank, total = 0, rounds = argc > 1 ? atoi(argv[1]) : 20;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < rounds; round++) {
#pragma omp parallel for
        for (int i = 0; i < COUNT; i++)
            values[i] = (values[i] * 3 + i) % 1000003;
        MPI_Allreduce(&values[COUNT - 1], &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("total %d\n", total);
    MPI_Finalize();
    return 0;
}
