/* Neighbours exchange 1 MiB faces: bound by the bandwidth between ranks.
 *
 * Shows: a transport forced by an old setting (TCP on one node, say) costs most of it.
 *   MPIR_CVAR_NOLOCAL=1 mpiric tune -- mpiexec -n 2 ./halo_bytes
 *   mpiric tune -- mpirun --mca btl tcp,self -n 2 ./halo_bytes
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    enum { BYTES = 1 << 20 };
    int rank, ranks, rounds = argc > 1 ? atoi(argv[1]) : 400;
    unsigned char *out = malloc(BYTES), *in = malloc(BYTES);
    unsigned long check = 0, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < BYTES; i++)
        out[i] = (unsigned char)(i + rank);
    for (int round = 0; round < rounds; round++) {
        MPI_Sendrecv(out, BYTES, MPI_BYTE, (rank + 1) % ranks, 0, in, BYTES, MPI_BYTE,
                     (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check += in[(round * 4099L) % BYTES];
    }
    MPI_Reduce(&check, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("check %lu\n", all);
    MPI_Finalize();
    free(out);
    free(in);
    return 0;
}
