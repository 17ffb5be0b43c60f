/* Work whose time settings decide, on top of arithmetic that they cannot change. The arithmetic keeps gains
 * below 2, where a change of the machine's speed for one of the two moves them little.
 *
 *   MODE COUNT MILLIONS
 *
 * churn: COUNT buffers of 48 MiB, touched and freed. exchange: COUNT messages of 8 bytes to and fro.
 * pairs: COUNT exchanges of 16 KiB with the rank half the world away. compute: nothing more.
 * Then MILLIONS of multiplications. Rank 0 prints the seconds between the first barrier and the last.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, PAIR_BYTES = 16384 };

static void churn(long count) {
    const size_t bytes = 48u << 20;
    for (long round = 0; round < count; round++) {
        volatile char* buffer = malloc(bytes);
        if (!buffer)
            MPI_Abort(MPI_COMM_WORLD, 2);
        for (size_t i = 0; i < bytes; i += PAGE)
            buffer[i] = (char)round;
        free((void*)buffer);
    }
}

static void exchange(int partner, int bytes, long count) {
    static char sent[PAIR_BYTES], received[PAIR_BYTES];
    for (long round = 0; round < count; round++)
        MPI_Sendrecv(sent, bytes, MPI_BYTE, partner, 0, received, bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 4 || ranks % 2) {
        fprintf(stderr, "usage: MODE COUNT MILLIONS, with an even number of ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const long count = atol(argv[2]), millions = atol(argv[3]);
    MPI_Barrier(MPI_COMM_WORLD);
    const double started = MPI_Wtime();
    if (strcmp(argv[1], "churn") == 0)
        churn(count);
    else if (strcmp(argv[1], "exchange") == 0)
        exchange((rank + ranks / 2) % ranks, 8, count);
    else if (strcmp(argv[1], "pairs") == 0)
        exchange((rank + ranks / 2) % ranks, PAIR_BYTES, count);
    volatile double value = 1.0;
    for (long i = 0; i < millions * 1000000; i++)
        value = value * 1.0000001;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("seconds %.6f\n", MPI_Wtime() - started);
    MPI_Finalize();
    return 0;
}
