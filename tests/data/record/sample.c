/* The program behind the samples of records: its traffic can be counted on paper.
 *
 * 100 rounds, each a message of 4 bytes to the next rank and an allreduce of 8 bytes; 500 bytes from the
 * first to the second rank of each half; the first half of the rounds in phase 5, with a millisecond of work
 * in each. With an argument the last rank is killed after 50 rounds.
 */
#include <mpi.h>
#include <signal.h>
#include <string.h>

static void work(double seconds) {
    const double begin = MPI_Wtime();
    while (MPI_Wtime() - begin < seconds)
        ;
}

int main(int argc, char** argv) {
    int rank, ranks, half_rank, token = 0;
    double mine = 1, sum;
    char text[500];
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_set_name(half, "half");
    MPI_Comm_rank(half, &half_rank);
    memset(text, 'x', sizeof text);
    MPI_Pcontrol(5);
    for (int round = 0; round < 100; ++round) {
        MPI_Request request;
        int got;
        if (round == 50) {
            MPI_Pcontrol(-5);
            if (argc > 1 && rank == ranks - 1)
                raise(SIGKILL);
        }
        if (round < 50)
            work(0.001);
        MPI_Irecv(&got, 1, MPI_INT, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &request);
        MPI_Send(&token, 1, MPI_INT, (rank + 1) % ranks, 0, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (half_rank == 0 && ranks > 2)
        MPI_Send(text, 500, MPI_CHAR, 1, 1, half);
    if (half_rank == 1)
        MPI_Recv(text, 500, MPI_CHAR, 0, 1, half, MPI_STATUS_IGNORE);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
