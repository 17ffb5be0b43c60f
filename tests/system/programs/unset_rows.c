/* Steps for hours, each in memory of its own, of which every other number is set and all are sent: what the
 * rest holds, and so what is sent, is the allocator's affair. Now and then all are set, so that memory that
 * is used again is not the one that was fresh. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

enum { numbers = 40000 };

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank;
    double sum = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (long step = 0; step < 2000000; ++step) {
        usleep(2000);
        double *out = malloc(numbers * sizeof *out), *in = malloc(numbers * sizeof *in), part = 0, all;
        for (int at = 0; at < numbers; at += step % 7 ? 2 : 1)
            out[at] = sum + at;
        MPI_Sendrecv(out, numbers, MPI_DOUBLE, 1 - rank, 0, in, numbers, MPI_DOUBLE, 1 - rank, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int at = 0; at < numbers; at += 2)
            part += in[at];
        MPI_Allreduce(&part, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        sum = 1 / all + (double)(step % 5);
        free(in);
        free(out);
    }
    MPI_Finalize();
    return 0;
}
