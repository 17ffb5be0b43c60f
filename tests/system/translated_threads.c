/* Many threads call MPI at once: each has a communicator of its own, and objects that come and go. Prints how
 * many threads of rank 0 got right results. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { threads = 16, rounds = 200 };

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
    (void)type;
    for (int at = 0; at < *count; ++at)
        ((int*)inout)[at] += ((int*)in)[at];
}

static void* work(void* given) {
    MPI_Comm comm = *(MPI_Comm*)given;
    int rank, size, wrong = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int round = 0; round < rounds; ++round) {
        int sent = rank + round, received = -1, sum = 0, found = 0;
        MPI_Status status;
        MPI_Request both[2];
        MPI_Op op;
        MPI_Datatype type;
        MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, round, comm, &both[0]);
        MPI_Isend(&sent, 1, MPI_INT, (rank + 1) % size, round, comm, &both[1]);
        MPI_Wait(&both[0], &status);
        MPI_Wait(&both[1], MPI_STATUS_IGNORE);
        wrong += received != status.MPI_SOURCE + round || status.MPI_TAG != round;
        MPI_Op_create(add, 1, &op);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, op, comm);
        MPI_Op_free(&op);
        wrong += sum != size * (size - 1) / 2;
        MPI_Type_contiguous(round + 1, MPI_INT, &type);
        MPI_Type_size(type, &found);
        MPI_Type_free(&type);
        wrong += found != (round + 1) * (int)sizeof(int);
        int ones[2] = {1, 1}, places[2] = {0, sizeof(int)}, parts[2] = {round, round}, got[2] = {-1, -1};
        MPI_Datatype types[2] = {MPI_INT, MPI_INT};
        MPI_Ialltoallw(parts, ones, places, types, got, ones, places, types, comm, &both[0]);
        MPI_Wait(&both[0], MPI_STATUS_IGNORE);
        for (int at = 0; at < size; ++at)
            wrong += got[at] != round;
        MPI_Comm_set_attr(comm, *(int*)((MPI_Comm*)given + 1), &comm);
    }
    return wrong ? NULL : given;
}

int main(int argc, char** argv) {
    struct {
        MPI_Comm comm;
        int keyval;
    } each[threads];
    pthread_t thread[threads];
    int provided, rank, keyval, right = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    for (int at = 0; at < threads; ++at) {
        MPI_Comm_dup(MPI_COMM_WORLD, &each[at].comm);
        each[at].keyval = keyval;
    }
    for (int at = 0; at < threads; ++at)
        pthread_create(&thread[at], NULL, work, &each[at]);
    for (int at = 0; at < threads; ++at) {
        void* answer;
        pthread_join(thread[at], &answer);
        right += answer != NULL;
    }
    if (rank == 0)
        printf("level %d right %d\n", provided == MPI_THREAD_MULTIPLE, right);
    for (int at = 0; at < threads; ++at)
        MPI_Comm_free(&each[at].comm);
    MPI_Finalize();
    return 0;
}
