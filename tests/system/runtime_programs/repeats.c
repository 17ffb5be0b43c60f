/* repeats CALLS BYTES: so many MPI_Alltoall of so many bytes to each rank, all checked; says "right". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
    int rank, size, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int calls = atoi(argv[1]), bytes = atoi(argv[2]);
    unsigned char* out = malloc((size_t)size * (size_t)bytes);
    unsigned char* in = malloc((size_t)size * (size_t)bytes);
    for (int call = 0; call < calls; ++call) {
        for (int to = 0; to < size; ++to)
            memset(out + (size_t)to * (size_t)bytes, call + 3 * rank + 5 * to, (size_t)bytes);
        MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
        for (int from = 0; from < size; ++from) {
            const unsigned char expected = (unsigned char)(call + 3 * from + 5 * rank);
            const unsigned char* block = in + (size_t)from * (size_t)bytes;
            wrong |= block[0] != expected || block[bytes - 1] != expected;
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        puts(wrong ? "wrong" : "right");
    free(out);
    free(in);
    MPI_Finalize();
    return wrong;
}
