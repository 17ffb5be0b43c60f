/* Sleeps for ARGV[1] milliseconds between MPI_Init and MPI_Finalize, and prints the number of ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    usleep(1000 * (argc > 1 ? atoi(argv[1]) : 0));
    if (rank == 0)
        printf("%d ranks\n", size);
    MPI_Finalize();
    return 0;
}
