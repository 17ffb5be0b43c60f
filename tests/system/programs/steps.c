/* Steps of equal work for hours: a short pause, a sum over all ranks, and now and then a line of output
 * and one in a file, neither of which is flushed. The pause is thirty times as long where the environment
 * lacks the variable that is named. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int pause_us = argc > 1 && !getenv(argv[1]) ? 60000 : 2000;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    FILE* trace = rank == 0 ? fopen("trace", "w") : NULL;
    double sum = rank + 1.0;
    for (long step = 0; step < 2000000; ++step) {
        usleep(pause_us);
        double part = sum / 3.0 + step % 5;
        MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (rank == 0 && step % 10 == 0) {
            printf("step %ld sum %.10f\n", step, sum);
            fprintf(trace, "%ld %.10f\n", step, sum);
        }
    }
    MPI_Finalize();
    return 0;
}
