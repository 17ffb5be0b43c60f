// Rank 0: five starts of a persistent send, three puts, two gets.
#include <mpi.h>

int main(int argc, char** argv) {
    int rank;
    double window[8] = {0}, data[8] = {0};
    MPI_Request request;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        MPI_Send_init(data, 5, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, &request);
    else
        MPI_Recv_init(data, 5, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &request);
    for (int round = 0; round < 5; ++round) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    MPI_Win_create(window, sizeof window, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    if (rank == 0) {
        for (int round = 0; round < 3; ++round)
            MPI_Put(data, 2, MPI_DOUBLE, 1, 2 * round, 2, MPI_DOUBLE, win);
        for (int round = 0; round < 2; ++round)
            MPI_Get(data + round, 1, MPI_DOUBLE, 1, 7, 1, MPI_DOUBLE, win);
    }
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
