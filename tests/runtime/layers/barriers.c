/* Three barriers and a reduction. */
#include <mpi.h>

int main(int argc, char** argv) {
    int sum = 0;
    MPI_Init(&argc, &argv);
    for (int at = 0; at < 3; ++at)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum > 0 ? 0 : 1;
}
