/* Each rank says who it is and which MPI library it really runs under.
 *
 *   mpicc hello.c -o hello && mpiexec -n 2 ./hello
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, size, length;
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_library_version(library, &length);
    library[strcspn(library, "\n")] = '\0'; /* MPICH goes on with how it was configured */
    printf("rank %d of %d under %s\n", rank, size, library);
    MPI_Finalize();
    return 0;
}
