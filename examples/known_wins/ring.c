/* Each rank sends to the next one, 60 messages of 256 KiB unless told otherwise: bound by the network.
 *
 * Shows: of two networks between hosts, libraries take the first, or spread over both; the slow one decides.
 *   mpiric tune -- mpiexec -hosts n1,n2 -ppn 1 -n 2 ./ring
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    const int bytes = argc > 1 ? atoi(argv[1]) : 1 << 18, rounds = argc > 2 ? atoi(argv[2]) : 60;
    char *out = calloc((size_t)bytes, 1), *in = calloc((size_t)bytes, 1);
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int round = 0; round < rounds; round++) {
        out[round % bytes] = (char)(rank + 1);
        MPI_Sendrecv(out, bytes, MPI_CHAR, (rank + 1) % ranks, 0, in, bytes, MPI_CHAR,
                     (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0)
        printf("the last rank says %d\n", in[0]);
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
