/* One rank ends alone; the others come to MPI_Finalize without it. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        MPI_Abort(MPI_COMM_SELF, 8);
    MPI_Finalize();
    puts("finalized");
    return 0;
}
