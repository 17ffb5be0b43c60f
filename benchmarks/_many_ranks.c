// Every rank sends to its right neighbour, and all reduce in between; each appends to a file when it entered
// MPI_Finalize and when it left it. Arguments: steps, file.
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { message_bytes = 1024, steps_of_a_reduction = 10 };

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);  // one for all ranks of the node
    return now.tv_sec + now.tv_nsec * 1e-9;
}

int main(int argc, char** argv) {
    char sent[message_bytes] = {0}, got[message_bytes], line[80];
    int rank, size;
    double value = 1, sum;
    if (argc < 3)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 0; step < atoi(argv[1]); ++step) {
        MPI_Request request;
        MPI_Irecv(got, message_bytes, MPI_CHAR, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &request);
        MPI_Send(sent, message_bytes, MPI_CHAR, (rank + 1) % size, 0, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (step % steps_of_a_reduction == 0)
            MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now_s();
    MPI_Finalize();
    const int length = snprintf(line, sizeof line, "%.9f %.9f\n", begin, now_s());
    const int file = open(argv[2], O_WRONLY | O_CREAT | O_APPEND, 0644);
    return file < 0 || write(file, line, length) != length;
}
