// Rank 0 reads standard input to its end and says how long it was.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    int rank;
    long bytes = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    while (rank == 0 && getchar() != EOF)
        ++bytes;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("read %ld bytes\n", bytes);
    MPI_Finalize();
    return 0;
}
