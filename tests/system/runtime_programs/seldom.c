/* seldom CALLS BYTES: so few MPI_Bcast of so many bytes that nothing can be learned of them; says "right". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
    int rank, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int calls = atoi(argv[1]), bytes = atoi(argv[2]);
    unsigned char* data = malloc((size_t)bytes);
    for (int call = 0; call < calls; ++call) {
        memset(data, rank == 0 ? call + 1 : 0, (size_t)bytes);
        MPI_Bcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        wrong |= data[0] != (unsigned char)(call + 1) || data[bytes - 1] != (unsigned char)(call + 1);
    }
    int any = 0;
    MPI_Reduce(&wrong, &any, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        puts(any ? "wrong" : "right");
    free(data);
    MPI_Finalize();
    return any;
}
