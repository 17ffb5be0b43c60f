/* Works and reduces for ever; the second rank has three times the work of the first. */
#include <mpi.h>

int main(int argc, char** argv) {
    int rank;
    double one = 1.0, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (;;) {
        const double begin = MPI_Wtime();
        while (MPI_Wtime() - begin < (rank ? 0.03 : 0.01))
            ;
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}
