/* A program whose traffic can be counted on paper; an argument is the exit status.
 *
 * Each rank of n: 10 messages of 1000 bytes to the next rank; rank 0 one message of 8 bytes to every other; 5
 * allreduces of 4 doubles and 2 broadcasts of 100 bytes on the world; 3 barriers on a communicator of its
 * half.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    int rank, ranks;
    char out[1000] = {0}, in[1000];
    double mine[4] = {0}, all[4];
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < 10; ++i)
        MPI_Sendrecv(out, 1000, MPI_BYTE, (rank + 1) % ranks, 0, in, 1000, MPI_BYTE,
                     (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank)
        MPI_Recv(in, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        for (int to = 1; to < ranks; ++to)
            MPI_Send(out, 8, MPI_BYTE, to, 1, MPI_COMM_WORLD);
    for (int i = 0; i < 5; ++i)
        MPI_Allreduce(mine, all, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 2; ++i)
        MPI_Bcast(out, 100, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_set_name(half, "half");
    for (int i = 0; i < 3; ++i)
        MPI_Barrier(half);
    MPI_Comm_free(&half);
    if (!rank)
        printf("%d ranks\n", ranks);
    MPI_Finalize();
    return argc > 1 ? atoi(argv[1]) : 0;
}
