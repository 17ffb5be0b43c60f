// Rank 1 receives 3 of the 100 doubles that it has room for, once by each way a receive can be posted and
// completed; nothing comes from MPI_PROC_NULL or into what is cancelled.
#include <mpi.h>
#include <stddef.h>

enum { tag = 7, sent = 3, room = 100, ways = 14, in_bulk = 200 };

static double data[in_bulk][room];

static void post(MPI_Request* request, int source) {
    MPI_Irecv(data[0], room, MPI_DOUBLE, source, tag, MPI_COMM_WORLD, request);
}

static void receive(void) {
    int flag = 0, index, count, indices[2];
    MPI_Request one, two[2], many[in_bulk];
    MPI_Status status, statuses[2];
    MPI_Message message;

    post(&one, 0);
    MPI_Wait(&one, MPI_STATUS_IGNORE);
    post(&one, 0);
    MPI_Wait(&one, &status);
    for (post(&one, 0); !flag; MPI_Test(&one, &flag, MPI_STATUS_IGNORE))
        ;
    post(&two[0], 0);
    post(&two[1], MPI_PROC_NULL);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
    post(&two[0], MPI_PROC_NULL);
    post(&two[1], 0);
    MPI_Waitall(2, two, statuses);
    post(&two[0], 0);
    two[1] = MPI_REQUEST_NULL;
    MPI_Waitany(2, two, &index, MPI_STATUS_IGNORE);
    post(&two[1], 0);
    two[0] = MPI_REQUEST_NULL;
    MPI_Waitsome(2, two, &count, indices, MPI_STATUSES_IGNORE);
    for (post(&two[1], 0), flag = 0; !flag; MPI_Testall(2, two, &flag, MPI_STATUSES_IGNORE))
        ;
    for (post(&two[1], 0), flag = 0; !flag; MPI_Testany(2, two, &index, &flag, MPI_STATUS_IGNORE))
        ;
    for (post(&two[1], 0), count = 0; count <= 0; MPI_Testsome(2, two, &count, indices, statuses))
        ;
    MPI_Mprobe(0, tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(data[0], room, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
    MPI_Mprobe(0, tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(data[0], room, MPI_DOUBLE, &message, &one);
    MPI_Pcontrol(0);  // receives posted while recording count, regardless of their completion
    MPI_Wait(&one, MPI_STATUS_IGNORE);
    MPI_Pcontrol(1);
    MPI_Recv_init(data[0], room, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, &one);
    for (int round = 0; round < 2; ++round) {
        MPI_Start(&one);
        MPI_Wait(&one, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&one);
    for (int at = 0; at < in_bulk; ++at)
        MPI_Irecv(data[at], room, MPI_DOUBLE, 0, tag + 1, MPI_COMM_WORLD, &many[at]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Waitall(in_bulk, many, MPI_STATUSES_IGNORE);
    MPI_Irecv(data[0], room, MPI_DOUBLE, 0, tag + 2, MPI_COMM_WORLD, &one);
    MPI_Cancel(&one);
    MPI_Wait(&one, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        for (int way = 0; way < ways; ++way)
            MPI_Send(data[0], sent, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int at = 0; at < in_bulk; ++at)
            MPI_Send(data[0], sent, MPI_DOUBLE, 1, tag + 1, MPI_COMM_WORLD);
    } else
        receive();
    MPI_Finalize();
    return 0;
}
