/* Prints, for allreduce and reduce at each size given in bytes, a digest of the sum's rounding errors:
   another algorithm adds in another order, so equal digests mean the same algorithm. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t digest(const double* values, int count) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (int i = 0; i < count; ++i) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        for (int byte = 0; byte < 8; ++byte) {
            hash = (hash ^ (bits >> (8 * byte) & 0xff)) * 0x100000001b3u;
        }
    }
    return hash;
}

int main(int argc, char** argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 1; i < argc; ++i) {
        const int count = atoi(argv[i]) / 8;
        double* in = malloc((size_t)count * sizeof *in + 1);
        double* out = malloc((size_t)count * sizeof *out + 1);
        uint64_t state = 88172645463325252u + (uint64_t)rank;
        for (int j = 0; j < count; ++j) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            in[j] = (double)(int64_t)state * (1 << (state >> 60));
        }
        MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (rank == 0) {
            printf("allreduce %s %016llx\n", argv[i], (unsigned long long)digest(out, count));
        }
        MPI_Reduce(in, out, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            printf("reduce %s %016llx\n", argv[i], (unsigned long long)digest(out, count));
        }
        free(in);
        free(out);
    }
    MPI_Finalize();
    return 0;
}
