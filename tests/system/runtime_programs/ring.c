// Ten rounds: two integers to the next rank, and a sum over all.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    int rank, size, got[10], given[2] = {1, 2};
    double sum = 0, one = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < 10; ++round) {
        MPI_Request request;
        MPI_Irecv(got, 10, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &request);
        MPI_Send(given, 2, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("sum %g\n", sum);
    MPI_Finalize();
    return 0;
}
