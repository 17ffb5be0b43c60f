/* Large buffers allocated, touched and freed in a loop.
 *
 * Shows: above 32 MiB glibc returns each buffer to the system, which clears every page of the next one.
 *   mpiric tune -- mpiexec -n 2 ./malloc_churn
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    enum { PAGE = 4096 };
    const size_t bytes = 48u << 20;
    int rank, rounds = argc > 1 ? atoi(argv[1]) : 24;
    unsigned long touched = 0, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < rounds; round++) {
        volatile char* buffer = malloc(bytes);
        if (!buffer)
            MPI_Abort(MPI_COMM_WORLD, 2);
        for (size_t i = 0; i < bytes; i += PAGE) {
            buffer[i] = (char)round;
            touched++;
        }
        free((void*)buffer);
    }
    MPI_Reduce(&touched, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("touched %lu pages\n", all);
    MPI_Finalize();
    return 0;
}
