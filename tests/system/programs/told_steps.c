/* Steps as a file says: their number, whether the sums come out as NaN, and the exit status. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    FILE* input = argc > 1 ? fopen(argv[1], "r") : NULL;
    int steps = 0, goes_wrong = 0, status = 0, rank;
    if (!input || fscanf(input, "%d %d %d", &steps, &goes_wrong, &status) != 3)
        MPI_Abort(MPI_COMM_WORLD, 9);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double sum = rank + 1.0;
    for (int step = 0; step < steps; ++step) {
        usleep(500);
        double part = sum / 3.0 + step % 5;
        MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (rank == 0 && step % 10 == 0)
            printf("step %d sum %.10f\n", step, goes_wrong ? NAN : sum);
    }
    MPI_Finalize();
    return status;
}
