// Rank 1 ends as the argument says: a signal, abort (MPI_Abort) or an exit status.
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1 && argc > 1) {
        if (!strcmp(argv[1], "abort"))
            MPI_Abort(MPI_COMM_WORLD, 3);
        if (!strcmp(argv[1], "exit"))
            exit(3);
        signal(atoi(argv[1]), SIG_DFL);
        raise(atoi(argv[1]));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
