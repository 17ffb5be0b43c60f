// Two ranks spawn two more; each pair of ranks adds up something a hundred times.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    MPI_Comm others;
    double one = 1, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&others);
    if (others == MPI_COMM_NULL)
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others,
                       MPI_ERRCODES_IGNORE);
    for (int time = 0; time < 100; ++time)
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(others);
    MPI_Comm_disconnect(&others);
    printf("sum %g\n", sum);
    MPI_Finalize();
    return 0;
}
