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
#include <time.h>
#include <unistd.h>

enum { most_threads = 16 };
static const double run_s = 3.0;
static volatile double sink;

static double now_s(void) { // also before MPI_Init
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static void* compute(void* seconds) {
    const double until = now_s() + *(const double*)seconds;
    while (now_s() < until)
        for (int i = 0; i < 100000; i++)
            sink = sin(i);
    return NULL;
}

static void work(double seconds) { compute(&seconds); }

static void use_threads(int count) {
    pthread_t threads[most_threads];
    double seconds = run_s;
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, compute, &seconds);
    for (int i = 0; i < count; i++)
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

static void lock_target(int rank) {
    static double memory[16];
    const double one = 1;
    MPI_Win window;
    MPI_Win_create(memory, sizeof memory, sizeof one, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    for (int step = 0; step < 10; step++) {
        work(rank == 0 ? run_s / 10 : run_s / 20);
        if (rank == 1) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
            MPI_Accumulate(&one, 1, MPI_DOUBLE, 0, step, 1, MPI_DOUBLE, MPI_SUM, window);
            MPI_Win_unlock(0, window);
        }
    }
    MPI_Win_free(&window);
}

static void open_files(void) {
    for (const double until = MPI_Wtime() + run_s; MPI_Wtime() < until;) {
        char name[] = "sick-XXXXXX";
        const int file = mkstemp(name);
        close(file);
        unlink(name);
    }
}

static void fault(void) {
    enum { bytes = 64 << 20 };
    for (const double until = MPI_Wtime() + run_s; MPI_Wtime() < until;) {
        char* memory = malloc(bytes);
        for (size_t at = 0; at < bytes; at += 4096)
            *(volatile char*)(memory + at) = 1;
        free(memory);
    }
}

static void poll(void) {
    int is_there;
    for (const double until = MPI_Wtime() + run_s; MPI_Wtime() < until;)
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
}

static void send_to_each_other(int rank, int is_synchronous) {
    enum { count = 8 << 20 };
    char* buffer = calloc(2, count);
    if (is_synchronous)
        MPI_Ssend(buffer, count, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD);
    else
        MPI_Send(buffer, count, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD);
    MPI_Recv(buffer + count, count, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(buffer);
}

static void reverse_collectives(int is_last) {
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Barrier(is_last ? copy : MPI_COMM_WORLD);
    MPI_Barrier(is_last ? MPI_COMM_WORLD : copy);
    MPI_Comm_free(&copy);
}

static void mix_collectives(int is_last) {
    enum { count = 1 << 16 };
    static double values[count], sums[count];
    if (!is_last)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(values, sums, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (is_last)
        MPI_Barrier(MPI_COMM_WORLD);
}

static int starts_as(const char* number) {
    const char* names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK"};
    for (int i = 0; i < 2; i++)
        if (getenv(names[i]))
            return !strcmp(getenv(names[i]), number);
    return 0;
}

int main(int argc, char** argv) {
    const char* kind = argc > 1 ? argv[1] : "healthy";
    const int number = argc > 2 ? atoi(argv[2]) : 0;
    int rank;
    if (!strcmp(kind, "before") && starts_as("1"))
        work(20 * run_s);
    if (!strcmp(kind, "sleeps_before") && starts_as("1"))
        sleep(60);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int is_last = rank == 1;
#ifdef _OPENMP
#pragma omp parallel
    sink = rank;
#endif
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
    } else if (!strcmp(kind, "exchange")) {
        for (int step = 0; step < 300; step++)
            send_large(rank, 0);
    } else if (!strcmp(kind, "threads")) {
        use_threads(most_threads);
    } else if (!strcmp(kind, "pair")) {
        use_threads(2);
    } else if (!strcmp(kind, "invalid")) {
        MPI_Send(&rank, 1, MPI_INT, 7, 0, MPI_COMM_WORLD);
    } else if (!strcmp(kind, "passive")) {
        lock_target(rank);
    } else if (!strcmp(kind, "opens")) {
        open_files();
    } else if (!strcmp(kind, "faults")) {
        fault();
    } else if (!strcmp(kind, "polls")) {
        poll();
    } else if (!strcmp(kind, "long")) {
        work(20 * run_s);
    } else if (!strcmp(kind, "steps")) {
        for (int step = 0; step < 600; step++) {
            work(run_s / 30);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    } else if (!strcmp(kind, "send_send")) {
        send_to_each_other(rank, number);
    } else if (!strcmp(kind, "late")) {
        work(is_last ? 20 * run_s : 0);
    } else if (!strcmp(kind, "reads")) {
        if (rank == 0 && scanf("%*d") == 0)
            fail("scanf");
    } else if (!strcmp(kind, "unsent")) {
        if (is_last)
            MPI_Recv(&rank, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (!strcmp(kind, "reversed")) {
        reverse_collectives(is_last);
    } else if (!strcmp(kind, "mixed")) {
        mix_collectives(is_last);
    } else if (!strcmp(kind, "sleeps")) {
        sleep(2);
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
    if (!strcmp(kind, "after"))
        sleep(3);
    return 0;
}
