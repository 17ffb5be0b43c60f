/* short_lived COMMUNICATORS CALLS LEVEL: so many communicators one after another, of all ranks in an order of
   their own each, with so many broadcasts on each; under MPI_THREAD_MULTIPLE when LEVEL is "threads". Prints
   how many KiB this process has grown by in the second half. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long resident_kib(void) {
    long pages = 0, resident = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return resident * 4;
}

int main(int argc, char** argv) {
    int provided, rank, size;
    const int wanted = argc > 3 && strcmp(argv[3], "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, wanted, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int communicators = atoi(argv[1]), calls = atoi(argv[2]);
    long before = 0;
    unsigned state = 1;
    for (int at = 0; at < communicators; ++at) {
        if (at == communicators / 2)
            before = resident_kib();
        /* Every rank draws for all, so that the keys of none are equal to another's by accident. */
        int key = 0;
        for (int of = 0; of < size; ++of) {
            state = state * 1664525u + 1013904223u;
            if (of == rank)
                key = (int)(state >> 8);
        }
        MPI_Comm comm;
        long number = at;
        MPI_Comm_split(MPI_COMM_WORLD, 0, key, &comm);
        for (int call = 0; call < calls; ++call)
            MPI_Bcast(&number, 1, MPI_LONG, 0, comm);
        MPI_Comm_free(&comm);
    }
    if (rank == 0)
        printf("%ld\n", resident_kib() - before);
    MPI_Finalize();
    return 0;
}
