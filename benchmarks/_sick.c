// A small program that fails, or runs badly, as its first argument says; without an argument it is healthy.
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_threads = 16 };
static const double run_s = 2.0;
static volatile double sink;

static void* compute(void* seconds) {
    const double until = MPI_Wtime() + *(const double*)seconds;
    while (MPI_Wtime() < until)
        for (int i = 0; i < 100000; i++)
            sink = sin(i);
    return NULL;
}

static void work(double seconds) {
    compute(&seconds);
}

static void use_threads(void) {
    pthread_t threads[most_threads];
    double seconds = run_s;
    for (int i = 0; i < most_threads; i++)
        pthread_create(&threads[i], NULL, compute, &seconds);
    for (int i = 0; i < most_threads; i++)
        pthread_join(threads[i], NULL);
}

static void fail(const char* what) {
    perror(what);
    exit(1);
}

static void allocate(size_t piece_bytes) {
    for (;;) {
        char* piece = malloc(piece_bytes);
        if (!piece)
            fail("malloc");
        memset(piece, 1, piece_bytes);
    }
}

static void send_large(int rank, int received) {
    enum { count = 8 << 20 };
    char* buffer = calloc(1, count);
    if (rank == 0)
        MPI_Send(buffer, count, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(buffer, received ? received : count, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(buffer);
}

static void communicate(double seconds) {
    double sum, one = 1;
    int is_over = 0, rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (const double until = MPI_Wtime() + seconds; !is_over;) {
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        is_over = MPI_Wtime() > until;
        MPI_Bcast(&is_over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

int main(int argc, char** argv) {
    const char* kind = argc > 1 ? argv[1] : "healthy";
    const int number = argc > 2 ? atoi(argv[2]) : 0;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int is_last = rank == 1;
    if (!strcmp(kind, "signal") && is_last) {
        signal(number, SIG_DFL);
        raise(number);
    } else if (!strcmp(kind, "assert")) {
        assert(!is_last);
    } else if (!strcmp(kind, "mpi_abort") && is_last) {
        MPI_Abort(MPI_COMM_WORLD, 3);
    } else if (!strcmp(kind, "input") && is_last) {
        fprintf(stderr, "error: the input has no atoms\n");
        exit(3);
    } else if (!strcmp(kind, "memory")) {
        allocate(16 << 20);
    } else if (!strcmp(kind, "files")) {
        while (open("/dev/null", O_RDONLY) >= 0) {
        }
        fail("open");
    } else if (!strcmp(kind, "disk")) {
        if (write(open("/dev/full", O_WRONLY), kind, 4) < 0)
            fail("write");
    } else if (!strcmp(kind, "truncate")) {
        send_large(rank, 8);
    } else if (!strcmp(kind, "large")) {
        send_large(rank, 0);
    } else if (!strcmp(kind, "threads")) {
        use_threads();
    } else if (!strcmp(kind, "imbalance")) {
        for (int step = 0; step < 20; step++) {
            work(is_last ? 0.2 : 0.02);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    } else if (!strcmp(kind, "communicate")) {
        communicate(run_s);
    } else if (!strcmp(kind, "healthy")) {
        for (int step = 0; step < 10; step++) {
            work(run_s / 10);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
