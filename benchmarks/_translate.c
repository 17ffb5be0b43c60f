// Times calls of MPI in one process: a line `call ns` for each, the best of some passes.
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

#define MEASURE(name, calls, code)                                                                           \
    {                                                                                                        \
        double best = 1e18;                                                                                  \
        for (int pass = 0; pass < 30; ++pass) {                                                              \
            const double begin = now_ns();                                                                   \
            for (int at = 0; at < calls; ++at) {                                                             \
                code;                                                                                        \
            }                                                                                                \
            const double each = (now_ns() - begin) / calls;                                                  \
            best = each < best ? each : best;                                                                \
        }                                                                                                    \
        printf("%s %.2f\n", name, best);                                                                     \
    }

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, bytes, flag, count, in = 0, out = 1;
    MPI_Datatype pair;
    MPI_Request request;
    MPI_Status status;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Sendrecv(&out, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &status);
    MEASURE("Comm_rank", 20000, MPI_Comm_rank(MPI_COMM_WORLD, &rank))
    MEASURE("Type_size", 20000, MPI_Type_size(MPI_DOUBLE, &bytes))
    MEASURE("Type_size(derived)", 20000, MPI_Type_size(pair, &bytes))
    MEASURE("Get_count", 20000, MPI_Get_count(&status, MPI_INT, &count))
    MEASURE("Iprobe", 5000, MPI_Iprobe(0, 5, MPI_COMM_SELF, &flag, &status))
    MEASURE("Irecv+Send+Wait", 2000, MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
            MPI_Send(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF); MPI_Wait(&request, &status))
    MEASURE("Allreduce(self)", 2000, MPI_Allreduce(&out, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF))
    MPI_Finalize();
    return 0;
}
