/* Conjugate gradients on a square of points, cut into rows of ranks: two sums over all ranks and two
 * messages in each iteration, with little to compute between them on a small square. What it spends is
 * latency.
 *
 *   mpiexec -n 8 ./cg [points along an edge, 256] [iterations, 400]
 *
 * On several hosts, where every sum crosses the network twice and could do so once:
 *
 *   mpiric tune --only collectives --allow-rounding -- mpiexec -hosts n1,n2,n3,n4 -ppn 2 ./cg
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    int edge, first, rows; /* rows first … first + rows − 1 are this rank's */
    int above, below;      /* ranks; MPI_PROC_NULL at the walls */
} Strip;

/* Row −1 and row `rows` belong to the neighbours. */
static double* new_field(const Strip* strip) {
    double* whole = calloc((size_t)(strip->rows + 2) * strip->edge, sizeof *whole);
    if (!whole) {
        fprintf(stderr, "cg: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return whole + strip->edge;
}

static double dot(const Strip* strip, const double* one, const double* other) {
    double sum = 0, all;
    for (int at = 0; at < strip->rows * strip->edge; at++)
        sum += one[at] * other[at];
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* The five-point Laplacian. */
static void apply(const Strip* strip, double* in, double* out) {
    const int edge = strip->edge, last = (strip->rows - 1) * edge;
    MPI_Sendrecv(in, edge, MPI_DOUBLE, strip->above, 0, in + last + edge, edge, MPI_DOUBLE, strip->below, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(in + last, edge, MPI_DOUBLE, strip->below, 1, in - edge, edge, MPI_DOUBLE, strip->above, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int row = 0; row < strip->rows; row++)
        for (int column = 0; column < edge; column++) {
            const double* here = in + row * edge + column;
            out[row * edge + column] = 4 * here[0] - here[-edge] - here[edge] - (column > 0 ? here[-1] : 0) -
                                       (column < edge - 1 ? here[1] : 0);
        }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    Strip strip = {.edge = argc > 1 ? atoi(argv[1]) : 256};
    const int iterations = argc > 2 ? atoi(argv[2]) : 400;
    if (strip.edge < ranks || iterations < 1) {
        if (rank == 0)
            fprintf(stderr, "cg: needs a row for each rank and an iteration\n");
        MPI_Finalize();
        return 1;
    }
    strip.first = (int)((long)strip.edge * rank / ranks);
    strip.rows = (int)((long)strip.edge * (rank + 1) / ranks) - strip.first;
    strip.above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    strip.below = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    const int points = strip.rows * strip.edge;
    double *x = new_field(&strip), *r = new_field(&strip), *p = new_field(&strip), *q = new_field(&strip);
    double* ones = new_field(&strip);
    for (int at = 0; at < points; at++)
        ones[at] = r[at] = p[at] = 1;
    const double begin = MPI_Wtime();
    double squares = dot(&strip, r, r);
    for (int iteration = 0; iteration < iterations; iteration++) {
        apply(&strip, p, q);
        const double curvature = dot(&strip, p, q); /* 0 once it is solved to the last bit */
        const double alpha = curvature > 0 ? squares / curvature : 0;
        for (int at = 0; at < points; at++) {
            x[at] += alpha * p[at];
            r[at] -= alpha * q[at];
        }
        const double before = squares;
        squares = dot(&strip, r, r);
        for (int at = 0; at < points; at++)
            p[at] = r[at] + (before > 0 ? squares / before : 0) * p[at];
    }
    const double mean = dot(&strip, x, ones) / strip.edge / strip.edge;
    if (rank == 0)
        printf("%d iterations, mean %.6f, %.3f s\n", iterations, mean, MPI_Wtime() - begin);
    free(x - strip.edge);
    free(r - strip.edge);
    free(p - strip.edge);
    free(q - strip.edge);
    free(ones - strip.edge);
    MPI_Finalize();
    return 0;
}
