/* A 3-D heat solver as scientists write them: explicit steps on a cube, cut into a 3-D grid of ranks.
 *
 * Each step exchanges six faces with the neighbours, computes into a newly allocated field, and now and
 * then reduces the residual over all ranks. The answer does not depend on the number of ranks beyond
 * rounding in the residual's sum.
 *
 *   mpiexec -n 2 ./heat3d [points per edge, 224] [steps, 20]
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { X, Y, Z, DIMENSIONS };
typedef enum { PACK, UNPACK } Direction;

typedef struct {
    MPI_Comm cart;
    int rank, ranks;
    int neighbour[DIMENSIONS][2]; /* lower, upper; MPI_PROC_NULL at the walls */
    int first[DIMENSIONS];        /* global index of the first own point */
    int points[DIMENSIONS];       /* own points along each edge */
} Domain;

/* Position in a field that carries one layer of ghost points all around. */
static size_t at(const Domain* domain, int i, int j, int k) {
    return ((size_t)i * (domain->points[Y] + 2) + j) * (domain->points[Z] + 2) + k;
}

static double* new_field(const Domain* domain) {
    double* field = malloc(at(domain, domain->points[X] + 2, 0, 0) * sizeof *field);
    if (!field) {
        fprintf(stderr, "heat3d: out of memory on rank %d\n", domain->rank);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return field;
}

static Domain split(int edge) {
    Domain domain;
    int shape[DIMENSIONS] = {0, 0, 0}, periodic[DIMENSIONS] = {0, 0, 0}, place[DIMENSIONS];
    MPI_Comm_size(MPI_COMM_WORLD, &domain.ranks);
    MPI_Dims_create(domain.ranks, DIMENSIONS, shape);
    MPI_Cart_create(MPI_COMM_WORLD, DIMENSIONS, shape, periodic, 1, &domain.cart);
    MPI_Comm_rank(domain.cart, &domain.rank);
    MPI_Cart_coords(domain.cart, domain.rank, DIMENSIONS, place);
    for (int d = 0; d < DIMENSIONS; d++) {
        MPI_Cart_shift(domain.cart, d, 1, &domain.neighbour[d][0], &domain.neighbour[d][1]);
        domain.first[d] = (int)((long)edge * place[d] / shape[d]);
        domain.points[d] = (int)((long)edge * (place[d] + 1) / shape[d]) - domain.first[d];
    }
    return domain;
}

/* A hot ball in a cold cube. */
static void heat_up(const Domain* domain, double* field, int edge) {
    for (int i = 1; i <= domain->points[X]; i++)
        for (int j = 1; j <= domain->points[Y]; j++)
            for (int k = 1; k <= domain->points[Z]; k++) {
                double x = domain->first[X] + i - 0.5 * edge, y = domain->first[Y] + j - 0.5 * edge,
                       z = domain->first[Z] + k - 0.5 * edge;
                field[at(domain, i, j, k)] = x * x + y * y + z * z < 0.0625 * edge * edge ? 100.0 : 0.0;
            }
}

/* Copy one face between the field and a packed buffer. */
static void copy_face(const Domain* domain, double* field, int d, int layer, double* buffer,
                      Direction direction) {
    int a = d == X ? Y : X, b = d == Z ? Y : Z, point[DIMENSIONS];
    point[d] = layer;
    for (int i = 1; i <= domain->points[a]; i++)
        for (int j = 1; j <= domain->points[b]; j++) {
            point[a] = i;
            point[b] = j;
            double* value = &field[at(domain, point[X], point[Y], point[Z])];
            if (direction == PACK)
                *buffer++ = *value;
            else
                *value = *buffer++;
        }
}

static void exchange_halo(const Domain* domain, double* field) {
    for (int d = 0; d < DIMENSIONS; d++) {
        size_t count = (size_t)domain->points[d == X ? Y : X] * domain->points[d == Z ? Y : Z];
        double *out = malloc(2 * count * sizeof *out), *in = malloc(2 * count * sizeof *in);
        MPI_Request requests[4];
        for (int side = 0; side < 2; side++)
            MPI_Irecv(in + side * count, (int)count, MPI_DOUBLE, domain->neighbour[d][side], 2 * d + side,
                      domain->cart, &requests[side]);
        for (int side = 0; side < 2; side++) {
            copy_face(domain, field, d, side ? domain->points[d] : 1, out + side * count, PACK);
            MPI_Isend(out + side * count, (int)count, MPI_DOUBLE, domain->neighbour[d][side], 2 * d + !side,
                      domain->cart, &requests[2 + side]);
        }
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        for (int side = 0; side < 2; side++) {
            if (domain->neighbour[d][side] == MPI_PROC_NULL)
                memset(in + side * count, 0, count * sizeof *in); /* the walls are cold */
            copy_face(domain, field, d, side ? domain->points[d] + 1 : 0, in + side * count, UNPACK);
        }
        free(out);
        free(in);
    }
}

/* One explicit step; returns this rank's sum of squared changes. */
static double advance(const Domain* domain, const double* now, double* next) {
    const double rate = 0.1;
    double change_squared = 0.0;
    for (int i = 1; i <= domain->points[X]; i++)
        for (int j = 1; j <= domain->points[Y]; j++)
            for (int k = 1; k <= domain->points[Z]; k++) {
                size_t here = at(domain, i, j, k);
                size_t row = domain->points[Z] + 2, plane = row * (domain->points[Y] + 2);
                double around = now[here - 1] + now[here + 1] + now[here - row] + now[here + row] +
                                now[here - plane] + now[here + plane];
                double change = rate * (around - 6.0 * now[here]);
                next[here] = now[here] + change;
                change_squared += change * change;
            }
    return change_squared;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int edge = argc > 1 ? atoi(argv[1]) : 224, steps = argc > 2 ? atoi(argv[2]) : 20;
    Domain domain = split(edge);
    if (edge < 2 || steps < 1) {
        if (domain.rank == 0)
            fprintf(stderr, "usage: heat3d [points per edge] [steps]\n");
        MPI_Finalize();
        return 2;
    }
    double *now = new_field(&domain), residual = 0.0, start = MPI_Wtime();
    heat_up(&domain, now, edge);
    for (int step = 1; step <= steps; step++) {
        exchange_halo(&domain, now);
        double* next = new_field(&domain);
        double mine = advance(&domain, now, next);
        free(now);
        now = next;
        MPI_Allreduce(&mine, &residual, 1, MPI_DOUBLE, MPI_SUM, domain.cart);
        if (domain.rank == 0 && step % (steps > 10 ? steps / 10 : 1) == 0)
            printf("step %5d   residual %.10e\n", step, sqrt(residual));
    }
    double heat = 0.0, total = 0.0, elapsed = MPI_Wtime() - start;
    for (int i = 1; i <= domain.points[X]; i++)
        for (int j = 1; j <= domain.points[Y]; j++)
            for (int k = 1; k <= domain.points[Z]; k++)
                heat += now[at(&domain, i, j, k)];
    MPI_Reduce(&heat, &total, 1, MPI_DOUBLE, MPI_SUM, 0, domain.cart);
    if (domain.rank == 0)
        printf("heat %.9e on %d ranks\nelapsed %.3f s\n", total, domain.ranks, elapsed);
    free(now);
    MPI_Finalize();
    return 0;
}
