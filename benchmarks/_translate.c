// Calls of MPI in one process. Without arguments: a line `call ns` for each, the best of some passes. `count
// N`: each N times, for a tool that counts what happens in the functions `measure_…`. `load`: one call that
// needs the library, and the end; `load maps` also copies /proc/self/maps before the end.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, bytes, flag, counted, in, out = 1;
static MPI_Datatype pair;
static MPI_Request request;
static MPI_Status status;

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

#define CALL(name, code)                                                                                     \
    __attribute__((noinline)) static void measure_##name(int calls) {                                        \
        for (int at = 0; at < calls; ++at) {                                                                 \
            code;                                                                                            \
            __asm__ volatile("" ::: "memory");                                                               \
        }                                                                                                    \
    }
CALL(nothing, )
CALL(comm_rank, MPI_Comm_rank(MPI_COMM_WORLD, &rank))
CALL(type_size, MPI_Type_size(MPI_DOUBLE, &bytes))
CALL(type_size_derived, MPI_Type_size(pair, &bytes))
CALL(get_count, MPI_Get_count(&status, MPI_INT, &counted))
CALL(iprobe, MPI_Iprobe(0, 5, MPI_COMM_SELF, &flag, &status))
CALL(irecv_send_wait, MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
     MPI_Send(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF); MPI_Wait(&request, &status))
CALL(allreduce_self, MPI_Allreduce(&out, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF))

static const struct {
    const char* name;
    void (*measure)(int calls);
    int calls;
} all[] = {{"nothing", measure_nothing, 20000},
           {"Comm_rank", measure_comm_rank, 20000},
           {"Type_size", measure_type_size, 20000},
           {"Type_size(derived)", measure_type_size_derived, 20000},
           {"Get_count", measure_get_count, 20000},
           {"Iprobe", measure_iprobe, 5000},
           {"Irecv+Send+Wait", measure_irecv_send_wait, 2000},
           {"Allreduce(self)", measure_allreduce_self, 2000}};
enum { kinds = sizeof all / sizeof *all };

static void copy_maps(void) {
    FILE* maps = fopen("/proc/self/maps", "r");
    for (int letter; maps && (letter = getc(maps)) != EOF;)
        putchar(letter);
}

static void time_all(void) {
    double nothing_ns = 0.0;
    for (int kind = 0; kind < kinds; ++kind) {
        double best = 1e18;
        for (int pass = 0; pass < 30; ++pass) {
            const double begin = now_ns();
            all[kind].measure(all[kind].calls);
            const double each = (now_ns() - begin) / all[kind].calls;
            best = each < best ? each : best;
        }
        if (kind == 0)
            nothing_ns = best;
        else
            printf("%s %.2f\n", all[kind].name, best - nothing_ns);
    }
}

int main(int argc, char** argv) {
    if (argc > 1 && strcmp(argv[1], "load") == 0) {
        MPI_Initialized(&flag);
        if (argc > 2)
            copy_maps();
        return 0;
    }
    MPI_Init(&argc, &argv);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Sendrecv(&out, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &status);
    if (argc > 2)
        for (int kind = 0; kind < kinds; ++kind)
            all[kind].measure(atoi(argv[2]));
    else
        time_all();
    MPI_Finalize();
    return 0;
}
