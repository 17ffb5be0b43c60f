// Rank 0 sends 8 MiB to rank 1, which libraries copy from memory to memory.
#include <mpi.h>
#include <stdlib.h>

enum { size_bytes = 8 << 20 };

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char* buffer = calloc(1, size_bytes);
    if (rank == 0)
        MPI_Send(buffer, size_bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(buffer, size_bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(buffer);
    MPI_Finalize();
    return 0;
}
