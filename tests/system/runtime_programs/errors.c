/* In MPICH a copy of a communicator that was never given an error handler obeys the one that the world has
   when the error comes. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int one = 1, sum = 0;
    for (int round = 0; round < 20; ++round)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int code = MPI_Send(&one, -1, MPI_INT, 0, 0, copy);
    printf("the error %s\n", code == MPI_SUCCESS ? "was not seen" : "came back");
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return 0;
}
