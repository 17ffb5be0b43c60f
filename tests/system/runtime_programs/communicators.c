// On four ranks: one message inside each half, whose ranks are reversed, and one through an
// intercommunicator.
#include <mpi.h>

int main(int argc, char** argv) {
    int rank, half_rank, value = 0;
    MPI_Comm half, between;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_set_name(half, "reversed half");
    MPI_Comm_rank(half, &half_rank);
    if (half_rank == 0)
        MPI_Send(&value, 1, MPI_INT, 1, 0, half);
    else
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, half, MPI_STATUS_IGNORE);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 2 : 3, 9, &between);
    if (rank == 0)
        MPI_Send(&value, 1, MPI_INT, 1, 0, between);
    if (rank == 1)
        MPI_Recv(&value, 1, MPI_INT, 1, 0, between, MPI_STATUS_IGNORE);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
