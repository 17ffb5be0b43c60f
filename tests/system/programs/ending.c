/* Two ranks and more that end as they are told: by the first argument, and by what the launch has set for
 * them.
 *
 *   exit N      rank 0 ends with status N and says so
 *   differs     prints another number when malloc is tuned
 *   hangs       never ends when malloc is tuned
 *   crashes     dereferences nothing when malloc is tuned
 *   echoes      rank 0 repeats its standard input
 *   sleeps S    takes S seconds
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char** environ;

static int malloc_is_tuned(void) {
    for (char** entry = environ; *entry; entry++)
        if (!strncmp(*entry, "MALLOC_", 7) || !strncmp(*entry, "GLIBC_TUNABLES", 14))
            return 1;
    return 0;
}

int main(int argc, char** argv) {
    const char* told = argc > 1 ? argv[1] : "";
    const double number = argc > 2 ? atof(argv[2]) : 0;
    int rank, status = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int tuned = malloc_is_tuned();
    if (!strcmp(told, "exit") && rank == 0) {
        fprintf(stderr, "ending with %d\n", status = (int)number);
    } else if (!strcmp(told, "differs") && rank == 0) {
        printf("the answer is %d\n", tuned ? 43 : 42);
    } else if (!strcmp(told, "hangs")) {
        while (tuned)
            pause();
    } else if (!strcmp(told, "crashes") && tuned && rank == 0) {
        *(volatile int*)0 = 1;
    } else if (!strcmp(told, "echoes") && rank == 0) {
        for (int c = getchar(); c != EOF; c = getchar())
            putchar(c);
    } else if (!strcmp(told, "sleeps")) {
        usleep((useconds_t)(number * 1e6));
    }
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return status;
}
