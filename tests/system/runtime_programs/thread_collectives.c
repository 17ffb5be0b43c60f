/* thread_collectives ROUNDS: threads call collectives at once, each on a communicator of its own, and make
   and free others meanwhile. Prints "right" once, or what is wrong; "no threads" when the library has not
   that level. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 3
#define MOST 2000
static int wrong, rounds, rank, size;

struct Work {
    MPI_Comm comm;
    long send[MOST], receive[MOST];
    pthread_t thread;
};
static struct Work all[THREADS];

static void expect(int fact, const char* what) {
    if (!fact && __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED) < 3)
        printf("rank %d: %s is wrong\n", rank, what);
}

static void* work(void* of) {
    struct Work* mine = of;
    const int sizes[] = {1, 100, MOST};
    for (int round = 0; round < rounds; ++round) {
        const int count = sizes[round % 3], root = round % size, each = count / size;
        long sum = (long)size * (size - 1) / 2 + (long)size * round, one = 0;
        MPI_Comm other;
        MPI_Request request;
        for (int at = 0; at < count; ++at)
            mine->send[at] = rank + round;
        MPI_Allreduce(mine->send, mine->receive, count, MPI_LONG, MPI_SUM, mine->comm);
        expect(mine->receive[0] == sum && mine->receive[count - 1] == sum, "allreduce");
        MPI_Reduce(mine->send, mine->receive, count, MPI_LONG, MPI_MAX, root, mine->comm);
        expect(rank != root || mine->receive[count - 1] == size - 1 + round, "reduce");
        MPI_Allgather(mine->send, each, MPI_LONG, mine->receive, each, MPI_LONG, mine->comm);
        for (int of_rank = 0; each && of_rank < size; ++of_rank)
            expect(mine->receive[of_rank * each] == of_rank + round, "allgather");
        MPI_Iallreduce(mine->send, mine->receive, 1, MPI_LONG, MPI_SUM, mine->comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect(mine->receive[0] == sum, "iallreduce");
        MPI_Bcast(mine->send, count, MPI_LONG, root, mine->comm);
        expect(mine->send[count - 1] == root + round, "bcast");
        MPI_Comm_split(mine->comm, 0, -rank, &other);
        MPI_Exscan(&sum, &one, 1, MPI_LONG, MPI_SUM, other);
        expect(rank == size - 1 || one == sum * (size - 1 - rank), "exscan");
        MPI_Comm_free(&other);
        MPI_Barrier(mine->comm);
    }
    return NULL;
}

int main(int argc, char** argv) {
    int provided, any = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rounds = argc > 1 ? atoi(argv[1]) : 1;
    for (int at = 0; provided == MPI_THREAD_MULTIPLE && at < THREADS; ++at)
        MPI_Comm_dup(MPI_COMM_WORLD, &all[at].comm);
    for (int at = 0; provided == MPI_THREAD_MULTIPLE && at < THREADS; ++at)
        pthread_create(&all[at].thread, NULL, work, &all[at]);
    for (int at = 0; provided == MPI_THREAD_MULTIPLE && at < THREADS; ++at)
        pthread_join(all[at].thread, NULL);
    MPI_Reduce(&wrong, &any, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && !any)
        printf(provided == MPI_THREAD_MULTIPLE ? "right\n" : "no threads\n");
    MPI_Finalize();
    return any != 0;
}
