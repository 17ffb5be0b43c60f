/* MPI and OpenMP: each rank's threads add their share of 1 … N, then all ranks add theirs. Exact numbers. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    const long last = 4000000;
    int rank, size, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long mine = 0, all = 0;
#pragma omp parallel for reduction(+ : mine)
    for (long i = rank + 1; i <= last; i += size)
        mine += i % 1000;
    MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(library, &length);
    if (rank == 0)
        printf("%d ranks: sum %ld\n", size, all);
    if (rank == 0)
        fprintf(stderr, "under %s\n", library);
    MPI_Finalize();
    return 0;
}
