/* Prints numbered lines, each flushed: by stdio's line buffering, by fflush, or by write(2) as other
 * languages do.
 *
 * lines HOW COUNT [END]: END is what the program does at its end: exit, _exit, abort, kill, sleep (before it
 * ends).
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
    int rank;
    char line[128];
    MPI_Init(&argc, &argv);
    if (argc < 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    const char* how = argv[1];
    const char* end = argc > 3 ? argv[3] : "exit";
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(how, "line-buffered") == 0)
        setvbuf(stdout, NULL, _IOLBF, 0);
    for (long number = 0, count = atol(argv[2]); number < count; ++number) {
        const int bytes = snprintf(
            line, sizeof line, "rank %d line %ld, and what makes it as long as lines mostly are, about 73\n",
            rank, number);
        if (strcmp(how, "written") == 0) {
            if (write(STDOUT_FILENO, line, (size_t)bytes) != bytes)
                MPI_Abort(MPI_COMM_WORLD, 3);
            continue;
        }
        fputs(line, stdout);
        if (strcmp(how, "flushed") == 0)
            fflush(stdout);
    }
    if (strcmp(end, "_exit") == 0)
        _exit(0);
    if (strcmp(end, "abort") == 0)
        abort();
    if (strcmp(end, "fault") == 0)
        raise(SIGSEGV);
    if (strcmp(end, "MPI_Abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 5);
    if (strcmp(end, "sleep") == 0)
        sleep(60);
    MPI_Finalize();
    return 0;
}
