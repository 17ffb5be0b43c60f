/* Programs that do not come back: each rank does what the first argument says, and one healthy one. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double numbers[20000];

__attribute__((noinline)) static double endless(void) {
    volatile double sum = 0;
    for (;;)
        sum += 1e-9;
    return sum;
}

int main(int argc, char** argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char* kind = argc > 1 ? argv[1] : "";
    const int other = rank ^ 1, last = size - 1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(kind, "sends")) {
        MPI_Send(numbers, 20000, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
        MPI_Recv(numbers, 20000, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (!strcmp(kind, "wait")) {
        MPI_Request request;
        MPI_Irecv(numbers, 1, MPI_DOUBLE, other, 7, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (!strcmp(kind, "order")) {
        MPI_Comm copy;
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Barrier(rank ? copy : MPI_COMM_WORLD);
    } else if (!strcmp(kind, "barrier")) {
        if (rank == last)
            endless();
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (!strcmp(kind, "input")) {
        char line[80];
        if (rank == 0 && !fgets(line, sizeof line, stdin))
            return 1;
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (!strcmp(kind, "works")) {
        for (;;) {
            double sum = 0, all;
            for (int at = 0; at < 20000; ++at)
                sum += numbers[at];
            MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
    } else {
        endless();
    }
    MPI_Finalize();
    return 0;
}
