/* Each rank says who it is and where it runs, in one write, so that lines of several ranks stay whole. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
    int rank, size, length;
    char host[MPI_MAX_PROCESSOR_NAME], line[MPI_MAX_PROCESSOR_NAME + 64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &length);
    length = snprintf(line, sizeof line, "%d of %d on %s\n", rank, size, host);
    int failed = write(STDOUT_FILENO, line, (size_t)length) != length;
    MPI_Finalize();
    return failed;
}
