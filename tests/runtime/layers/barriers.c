/* Three barriers and a reduction; after MPI_Finalize a function that has not been called before. */
#include <mpi.h>

int main(int argc, char** argv) {
    int sum = 0, version = 0, subversion = 0;
    MPI_Init(&argc, &argv);
    for (int at = 0; at < 3; ++at)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    MPI_Get_version(&version, &subversion);
    return sum > 0 && version > 0 ? 0 : 1;
}
