// A program with N steps, each with a message around a ring and a sum over all ranks. `steps N [HOW]`; HOW:
// sends    no collective in a step
// copy     the sum goes over a copy of the world
// unequal  the last rank makes half of the steps, without collectives
// threads  two threads at once, each on a communicator of its own
// workers  rank 0 hands out numbers, whoever is free takes the next
// fed      rank 0 hands out numbers in turn, which the others only receive
// quiet    prints a few words, and nothing any more
// holes    the sum uses a derived datatype with gaps, whose bytes differ from run to run
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, steps;
static MPI_Comm comms[2];

static void pass_round(double* value) {
    double got = 0;
    MPI_Sendrecv(value, 1, MPI_DOUBLE, (rank + 1) % size, 0, &got, 1, MPI_DOUBLE, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    *value = 0.5 * *value + 0.5 * got;
}

static void make_steps(MPI_Comm comm, int with_sum) {
    double value = rank, sum = 0;
    for (int step = 0; step < steps; ++step) {
        pass_round(&value);
        if (with_sum)
            MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
        value += sum / size + step;
        if (rank == 0)
            printf("step %d value %.17g\n", step, value);
    }
}

static void send_ahead(void) {
    // Ranks with more steps than the last rank send these messages to themselves.
    const int own = rank == size - 1 ? steps / 2 : steps;
    for (int step = 0; step < own; ++step) {
        double value = step, got;
        MPI_Sendrecv(&value, 1, MPI_DOUBLE, rank, 0, &got, 1, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
}

static void be_quiet(void) {
    double value = rank, sum = 0;
    if (rank == 0)
        printf("few words\n");
    for (int step = 0; step < steps; ++step)
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void* in_thread(void* comm) {
    double value = 1, sum = 0;
    for (int step = 0; step < steps; ++step)
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, *(MPI_Comm*)comm);
    if (sum != size)
        MPI_Abort(MPI_COMM_WORLD, 3);
    return NULL;
}

static void be_threads(void) {
    pthread_t other;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    pthread_create(&other, NULL, in_thread, &comms[0]);
    in_thread(&comms[1]);
    pthread_join(other, NULL);
}

static void hand_out(void) {
    int number = 0, done;
    MPI_Status status;
    for (int other = 1; other < size; ++other, ++number)
        MPI_Send(&number, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
    for (int left = steps; left > 0; --left, ++number) {
        MPI_Recv(&done, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
        MPI_Send(&number, 1, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD);
    }
    number = -1;
    for (int other = 1; other < size; ++other) {
        MPI_Recv(&done, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
        MPI_Send(&number, 1, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD);
    }
}

static void take(void) {
    for (int number;;) {
        MPI_Recv(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (number < 0)
            return;
        if (rank == 1)
            printf("took %d\n", number);
        MPI_Send(&number, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    }
}

static void feed(void) {
    for (int number = 0; number < steps; ++number)
        MPI_Ssend(&number, 1, MPI_INT, 1 + number % (size - 1), 1, MPI_COMM_WORLD);
    const int none = -1;
    for (int other = 1; other < size; ++other)
        MPI_Ssend(&none, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
}

static void be_fed(void) {
    for (int number = 0; number >= 0;)
        MPI_Recv(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void sum_with_holes(void) {
    MPI_Datatype first;
    MPI_Type_create_resized(MPI_INT, 0, 8, &first);
    MPI_Type_commit(&first);
    for (int step = 0; step < steps; ++step) {
        int values[2] = {step, (int)getpid()};
        MPI_Bcast(values, 1, first, 0, MPI_COMM_WORLD);
        MPI_Bcast(values, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Type_free(&first);
}

int main(int argc, char** argv) {
    const char* how = argc > 2 ? argv[2] : "";
    int level;
    MPI_Init_thread(&argc, &argv, strcmp(how, "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    steps = atoi(argv[1]);
    comms[0] = MPI_COMM_WORLD;
    if (!strcmp(how, "copy"))
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    if (!strcmp(how, "threads"))
        be_threads();
    else if (!strcmp(how, "workers"))
        rank == 0 ? hand_out() : take();
    else if (!strcmp(how, "fed"))
        rank == 0 ? feed() : be_fed();
    else if (!strcmp(how, "unequal"))
        send_ahead();
    else if (!strcmp(how, "holes"))
        sum_with_holes();
    else if (!strcmp(how, "quiet"))
        be_quiet();
    else
        make_steps(comms[0], strcmp(how, "sends"));
    if (rank == 0)
        printf("finished\n");
    MPI_Finalize();
    return 0;
}
