// Nanoseconds of CPU per call of three kinds of calls on MPI_COMM_WORLD, one process: a name and a number a
// line.
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static char sent[8], got[8];

static void comm_rank(void) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}
static void iprobe(void) {
    int flag;
    MPI_Iprobe(0, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}
static void message(void) {
    MPI_Request request;
    MPI_Irecv(got, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &request);
    MPI_Send(sent, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static const struct {
    const char* name;
    void (*call)(void);
    int calls;
} kinds[] = {
    {"Comm_rank", comm_rank, 1000000}, {"Iprobe", iprobe, 200000}, {"Irecv+Send+Wait", message, 100000}};

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);  // not the wall: others may use this CPU too
    return now.tv_sec * 1e9 + now.tv_nsec;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    for (int kind = 0; kind < 3; ++kind) {
        double best = 1e18;
        for (int pass = 0; pass < 5; ++pass) {
            const double begin = now_ns();
            for (int call = 0; call < kinds[kind].calls; ++call)
                kinds[kind].call();
            const double each = (now_ns() - begin) / kinds[kind].calls;
            best = each < best ? each : best;
        }
        printf("%s %.3f\n", kinds[kind].name, best);
    }
    MPI_Finalize();
    return 0;
}
