/* Two ranks that write the numbers of the signals they get to DIRECTORY/rank-N, and end by the first one once
 * both have got it.
 *
 *   received_signals DIRECTORY [SECONDS]    SECONDS: how long they wait for a signal; without it, for good
 */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char name[4096];
static volatile sig_atomic_t first;

static void note(int number) {
    const char text[] = {(char)('0' + number / 10), (char)('0' + number % 10), '\n'};
    const int file = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file < 0 || write(file, text, sizeof text) < 0)
        _exit(1);
    close(file);
    first = first ? first : number;
}

int main(int argc, char** argv) {
    const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
    char other[4096], ready[4096];
    const double wait_s = argc > 2 ? atof(argv[2]) : 0;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "%s/rank-%d", argv[1], rank);
    snprintf(other, sizeof other, "%s/rank-%d", argv[1], 1 - rank);
    snprintf(ready, sizeof ready, "%s/ready-%d", argv[1], rank);
    for (size_t at = 0; at < sizeof numbers / sizeof *numbers; at++)
        signal(numbers[at], note);
    close(open(ready, O_WRONLY | O_CREAT, 0600));
    for (double start = MPI_Wtime(); !first; usleep(10000))
        if (wait_s && MPI_Wtime() - start > wait_s)
            return MPI_Finalize();
    while (access(other, F_OK))
        usleep(10000);
    signal(first, SIG_DFL);
    raise(first);
    return 99;
}
