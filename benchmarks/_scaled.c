/* Steps of parallel programs for SimGrid's SMPI: messages and collectives as the programs make them, and the
 * computing between them as a number of operations. Each rank has a share of a cube of points.
 *
 *   smpirun … ./_scaled PROGRAM EDGE      prints the time of a step in s
 *
 * heat3d  six faces to the neighbours
 * cg      six faces and two sums over all ranks
 * md      faces in three phases, each after the one before; the work of ranks differs
 * fft     two transposes in rows and columns of a grid of ranks
 * output  six faces; rank 0 gets a part of all points and writes them with a fixed rate
 * serial  a sum, and a part of the work that every rank repeats
 * cached  as heat3d; from 48 ranks on a share fits into the cache and takes half of the time
 */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int rank, ranks, edge;
    int sides[3];         /* ranks along each side */
    int neighbours[3][2]; /* ranks before and after */
    int face_bytes[3];
    double points; /* of this rank */
    MPI_Comm row, column;
} Share;

/* Without privatisation all ranks of a simulation have the same memory: messages have no content. */
static char sent[1 << 28], received[1 << 28];
static const double operations = 40; /* per point */

static void exchange(const Share* share, int axis) {
    MPI_Request requests[4];
    for (int side = 0; side < 2; side++) {
        MPI_Irecv(received, share->face_bytes[axis], MPI_CHAR, share->neighbours[axis][side], side,
                  MPI_COMM_WORLD, &requests[side]);
        MPI_Isend(sent, share->face_bytes[axis], MPI_CHAR, share->neighbours[axis][1 - side], side,
                  MPI_COMM_WORLD, &requests[2 + side]);
    }
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void exchange_all(const Share* share) {
    for (int axis = 0; axis < 3; axis++)
        exchange(share, axis);
}

static void sum(const Share* share) {
    double mine = 1, all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void transpose(MPI_Comm comm, const Share* share) {
    int ranks;
    MPI_Comm_size(comm, &ranks);
    MPI_Alltoall(sent, (int)(share->points * 16 / ranks), MPI_CHAR, received,
                 (int)(share->points * 16 / ranks), MPI_CHAR, comm);
}

static void step(const char* program, const Share* share) {
    const double work = operations * share->points;
    if (!strcmp(program, "heat3d")) {
        exchange_all(share);
        smpi_execute_flops(work);
    } else if (!strcmp(program, "cg")) {
        exchange_all(share);
        smpi_execute_flops(work / 2);
        sum(share);
        smpi_execute_flops(work / 2);
        sum(share);
    } else if (!strcmp(program, "md")) {
        for (int axis = 0; axis < 3; axis++)
            exchange(share, axis);
        smpi_execute_flops(10 * work * (1 + 0.1 * ((share->rank * 2654435761u >> 16) % 1000) / 1000.0));
        sum(share);
    } else if (!strcmp(program, "fft")) {
        smpi_execute_flops(work);
        transpose(share->row, share);
        transpose(share->column, share);
    } else if (!strcmp(program, "output")) {
        exchange_all(share);
        smpi_execute_flops(work);
        const int bytes = (int)(share->points / 8);
        MPI_Gather(sent, bytes, MPI_CHAR, received, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
        if (share->rank == 0)
            smpi_execute_flops(0.002 * operations * share->points * share->ranks);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (!strcmp(program, "serial")) {
        smpi_execute_flops(work + 0.002 * operations * share->points * share->ranks);
        sum(share);
    } else {
        exchange_all(share);
        smpi_execute_flops(share->ranks < 48 ? work : work / 2);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    Share share = {.edge = argc > 2 ? atoi(argv[2]) : 0};
    MPI_Comm_size(MPI_COMM_WORLD, &share.ranks);
    if (share.edge < 1)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &share.rank);
    MPI_Dims_create(share.ranks, 3, share.sides);
    share.points = (double)share.edge * share.edge * share.edge / share.ranks;
    int stride = 1; /* of the ranks along an axis of the periodic grid */
    for (int axis = 2; axis >= 0; axis--) {
        const int sides = share.sides[axis], at = share.rank / stride % sides,
                  first = share.rank - at * stride;
        share.neighbours[axis][0] = first + (at + sides - 1) % sides * stride;
        share.neighbours[axis][1] = first + (at + 1) % sides * stride;
        share.face_bytes[axis] = (int)(8 * share.points * sides / share.edge);
        stride *= sides;
    }
    if (!strcmp(argv[1], "fft")) { /* a split takes long in a simulation */
        const int columns = share.sides[0];
        MPI_Comm_split(MPI_COMM_WORLD, share.rank / columns, share.rank, &share.row);
        MPI_Comm_split(MPI_COMM_WORLD, share.rank % columns, share.rank, &share.column);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    step(argv[1], &share);
    double mine = MPI_Wtime() - begin, slowest;
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (share.rank == 0)
        printf("%.9g\n", slowest);
    MPI_Finalize();
    return 0;
}
