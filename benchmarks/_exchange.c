/* Ranks exchange what a file says, for SimGrid's SMPI: lines of "source target bytes". Rank 0 prints the
 * seconds of an exchange, the mean of some.
 *
 *   smpirun … ./exchange FILE TIMES
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, used = 0, room = 64, source, target;
    long bytes;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    FILE* file = argc > 2 ? fopen(argv[1], "r") : NULL;
    if (!file)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Request* requests = malloc(room * sizeof *requests);
    char* data = SMPI_SHARED_MALLOC(64 << 20); /* nobody looks at it */
    while (fscanf(file, "%d %d %ld", &source, &target, &bytes) == 3) {
        if (used == room)
            requests = realloc(requests, (room *= 2) * sizeof *requests);
        if (target == rank)
            MPI_Recv_init(data, (int)bytes, MPI_BYTE, source, 0, MPI_COMM_WORLD, &requests[used++]);
        else if (source == rank)
            MPI_Send_init(data, (int)bytes, MPI_BYTE, target, 0, MPI_COMM_WORLD, &requests[used++]);
    }
    fclose(file);
    const int times = atoi(argv[2]);
    double spent = 0;
    for (int time = 0; time <= times; time++) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        MPI_Startall(used, requests);
        MPI_Waitall(used, requests, MPI_STATUSES_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        if (time > 0) /* the first one has cold protocols */
            spent += MPI_Wtime() - begin;
    }
    if (rank == 0)
        printf("%.9f\n", spent / times);
    for (int at = 0; at < used; at++)
        MPI_Request_free(&requests[at]);
    free(requests);
    SMPI_SHARED_FREE(data);
    MPI_Finalize();
    return 0;
}
