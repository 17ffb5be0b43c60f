// Prints what a launch line gives to each rank: number, variable A, directory, CPUs and arguments.
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char directory[4096], line[8192];
    if (!getcwd(directory, sizeof directory))
        return 1;
    const char* value = getenv("A");
    int used = snprintf(line, sizeof line, "%d/%d A=%s in %s on", rank, size, value ? value : "-", directory);
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof cpus, &cpus);
    for (int cpu = 0; cpu < 64; ++cpu)
        if (CPU_ISSET(cpu, &cpus))
            used += snprintf(line + used, sizeof line - used, " %d", cpu);
    for (int at = 1; at < argc; ++at)
        used += snprintf(line + used, sizeof line - used, " [%s]", argv[at]);
    line[used++] = '\n';
    // One write: MPICH makes stdout unbuffered, and another process could write between the text and its end.
    if (write(1, line, used) != used)
        return 1;
    MPI_Finalize();
    return 0;
}
