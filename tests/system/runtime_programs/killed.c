// Fifty sums, and then a sudden end.
#include <mpi.h>
#include <signal.h>

int main(int argc, char** argv) {
    double one = 1, sum;
    MPI_Init(&argc, &argv);
    for (int round = 0; round < 50; ++round)
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    raise(SIGKILL);
    return 0;
}
