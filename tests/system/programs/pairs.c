/* Each rank exchanges 16 KiB with the rank half the world away; rank 0 prints a checksum of what came. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { bytes = 16384 };

int main(int argc, char** argv) {
    int rank, size, steps = argc > 1 ? atoi(argv[1]) : 40;
    static unsigned char sent[bytes], got[bytes];
    unsigned long sum = 0, total = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int partner = (rank + size / 2) % size;
    for (int step = 0; step < steps; ++step) {
        for (int at = 0; at < bytes; ++at)
            sent[at] = (unsigned char)(rank + step + at);
        MPI_Sendrecv(sent, bytes, MPI_BYTE, partner, 1, got, bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        for (int at = 0; at < bytes; ++at)
            sum = 31 * sum + got[at];
    }
    MPI_Reduce(&sum, &total, 1, MPI_UNSIGNED_LONG, MPI_BXOR, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("checksum %lx\n", total);
    MPI_Finalize();
    return 0;
}
