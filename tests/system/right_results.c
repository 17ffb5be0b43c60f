/* Two or more ranks exchange messages and run every collective the knobs speak of, on several sizes;
 * rank 0 prints "right" when all results are what arithmetic says. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static long wrong;

static void expect(double got, double wanted) { wrong += got != wanted; }

static void ring(int rank, int ranks, int count, double* out, double* in) {
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    for (int i = 0; i < count; i++)
        out[i] = rank + i;
    MPI_Sendrecv(out, count, MPI_DOUBLE, next, 7, in, count, MPI_DOUBLE, before, 7, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++)
        expect(in[i], before + i);
}

static void reductions(int rank, int ranks, int count, double* out, double* in) {
    double sum = ranks * (ranks - 1) / 2.0;
    for (int i = 0; i < count * ranks; i++)
        out[i] = rank + i;
    MPI_Allreduce(out, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        expect(in[i], sum + (double)ranks * i);
    MPI_Reduce(out, in, count, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    for (int i = 0; i < count && rank == 0; i++)
        expect(in[i], ranks - 1 + i);
    int* counts = malloc(ranks * sizeof *counts);
    for (int i = 0; i < ranks; i++)
        counts[i] = count;
    MPI_Reduce_scatter(out, in, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        expect(in[i], sum + (double)ranks * (rank * count + i));
    free(counts);
}

static void moves(int rank, int ranks, int count, double* out, double* in) {
    for (int i = 0; i < count * ranks; i++)
        out[i] = rank * 1000.0 + i;
    MPI_Alltoall(out, count, MPI_DOUBLE, in, count, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int i = 0; i < count * ranks; i++)
        expect(in[i], i / count * 1000.0 + rank * count + i % count);
    MPI_Allgather(out, count, MPI_DOUBLE, in, count, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int i = 0; i < count * ranks; i++)
        expect(in[i], i / count * 1000.0 + i % count);
    MPI_Gather(out, count, MPI_DOUBLE, in, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < count * ranks && rank == 0; i++)
        expect(in[i], i / count * 1000.0 + i % count);
    MPI_Scatter(out, count, MPI_DOUBLE, in, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        expect(in[i], rank * count + i);
    MPI_Bcast(out, count, MPI_DOUBLE, ranks - 1, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        expect(out[i], (ranks - 1) * 1000.0 + i);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
    int rank, ranks;
    long all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    static const int counts[] = {1, 100, 1500, 40000}; /* 8 B, 800 B, 12 kB, 320 kB */
    double *out = malloc(sizeof *out * 40000 * ranks), *in = malloc(sizeof *in * 40000 * ranks);
    for (int i = 0; i < 4; i++) {
        ring(rank, ranks, counts[i], out, in);
        reductions(rank, ranks, counts[i], out, in);
        moves(rank, ranks, counts[i], out, in);
    }
    MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf(all == 0 ? "right\n" : "%ld wrong\n", all);
    MPI_Finalize();
    return 0;
}
