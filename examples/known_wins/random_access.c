/* Dependent random reads over a table far larger than any cache.
 *
 * Shows: with 4 KiB pages nearly every read misses the TLB as well; large pages take that away.
 *   mpiric tune -- mpiexec -n 2 ./random_access
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    size_t mib = argc > 1 ? (size_t)atoi(argv[1]) : 256;
    long reads = argc > 2 ? atol(argv[2]) : 5000000;
    size_t slots = mib * (1024 * 1024 / sizeof(uint64_t));
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    uint64_t *table = malloc(slots * sizeof *table), x = 88172645463325252u + (uint64_t)rank, sum = 0,
             all = 0;
    if (!table)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (size_t i = 0; i < slots; i++)
        table[i] = i * 2654435761u;
    for (long i = 0; i < reads; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        uint64_t value = table[(x + sum) % slots]; /* the next address depends on what was read */
        sum += value;
    }
    MPI_Reduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum %llu\n", (unsigned long long)all);
    free(table);
    MPI_Finalize();
    return 0;
}
