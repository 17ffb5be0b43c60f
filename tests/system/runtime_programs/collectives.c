/* collectives ROUNDS [errors [COMMUNICATORS]]: every blocking collective against results worked out by hand,
   on communicators of several kinds: whoever answers the calls must answer right. Prints "right" once, or
   what is wrong. `errors`: also that errors reach the handler of the communicator; some libraries are built
   without looking for them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 20000
static int wrong, rank, size;
static long send[MOST * 8], receive[MOST * 8];
static const int sizes[] = {0, 1, 3, 64, 1000, MOST};

static void expect(int fact, const char* what, int count) {
    if (!fact && wrong++ < 3)
        printf("rank %d of %d: %s with %d elements is wrong\n", rank, size, what, count);
}

static long value(int of, int at) { return 1000L * of + at % 97 + 1; }

static void fill(int count) {
    for (int at = 0; at < count; ++at)
        send[at] = value(rank, at), receive[at] = -1;
}

/* 2x2 integer matrices: associative, not commutative. */
static void multiply(void* in, void* out, int* length, MPI_Datatype* type) {
    (void)type;
    unsigned long *left = in, *right = out;
    for (int at = 0; at < *length; ++at, left += 4, right += 4) {
        unsigned long made[4] = {
            left[0] * right[0] + left[1] * right[2], left[0] * right[1] + left[1] * right[3],
            left[2] * right[0] + left[3] * right[2], left[2] * right[1] + left[3] * right[3]};
        memcpy(right, made, sizeof made);
    }
}

static long sum_of(int at, int ranks) {
    long sum = 0;
    for (int of = 0; of < ranks; ++of)
        sum += value(of, at);
    return sum;
}

static void reductions(MPI_Comm comm, int count, int root) {
    fill(count);
    MPI_Allreduce(send, receive, count, MPI_LONG, MPI_SUM, comm);
    for (int at = 0; at < count; ++at)
        expect(receive[at] == sum_of(at, size), "allreduce", count);
    MPI_Allreduce(MPI_IN_PLACE, send, count, MPI_LONG, MPI_MAX, comm);
    for (int at = 0; at < count; ++at)
        expect(send[at] == value(size - 1, at), "allreduce in place", count);
    fill(count);
    MPI_Reduce(send, receive, count, MPI_LONG, MPI_SUM, root, comm);
    for (int at = 0; rank == root && at < count; ++at)
        expect(receive[at] == sum_of(at, size), "reduce", count);
    if (root == 0) /* elsewhere MPICH 4.0.2 copies from MPI_IN_PLACE */
        MPI_Reduce(rank == root ? MPI_IN_PLACE : send, rank == root ? send : NULL, count, MPI_LONG, MPI_MIN,
                   root, comm);
    for (int at = 0; root == 0 && rank == root && at < count; ++at)
        expect(send[at] == value(0, at), "reduce in place", count);
    fill(count);
    MPI_Scan(send, receive, count, MPI_LONG, MPI_SUM, comm);
    for (int at = 0; at < count; ++at)
        expect(receive[at] == sum_of(at, rank + 1), "scan", count);
    MPI_Exscan(send, receive, count, MPI_LONG, MPI_SUM, comm);
    for (int at = 0; rank > 0 && at < count; ++at)
        expect(receive[at] == sum_of(at, rank), "exscan", count);
    int counts[64], before = 0;
    for (int of = 0; of < size; ++of)
        counts[of] = count / size + (of % 2);
    for (int of = 0; of < rank; ++of)
        before += counts[of];
    fill(count + size);
    MPI_Reduce_scatter(send, receive, counts, MPI_LONG, MPI_SUM, comm);
    for (int at = 0; at < counts[rank]; ++at)
        expect(receive[at] == sum_of(before + at, size), "reduce_scatter", count);
    int each = count / size;
    MPI_Reduce_scatter_block(send, receive, each, MPI_LONG, MPI_SUM, comm);
    for (int at = 0; at < each; ++at)
        expect(receive[at] == sum_of(rank * each + at, size), "reduce_scatter_block", each);
    for (int at = 0; at < each * size; ++at)
        receive[at] = send[at];
    MPI_Reduce_scatter_block(MPI_IN_PLACE, receive, each, MPI_LONG, MPI_SUM, comm);
    for (int at = 0; at < each * size; ++at) {
        long expected = at < each ? sum_of(rank * each + at, size) : send[at];
        expect(receive[at] == expected, "reduce_scatter_block in place", each);
    }
    before = 0;
    for (int of = 0; of < size; ++of)
        counts[of] = (of + 1) * (each / size);
    for (int of = 0; of < rank; ++of)
        before += counts[of];
    for (int at = 0; at < each * size; ++at)
        receive[at] = send[at];
    MPI_Reduce_scatter(MPI_IN_PLACE, receive, counts, MPI_LONG, MPI_SUM, comm);
    for (int at = 0; at < counts[rank]; ++at)
        expect(receive[at] == sum_of(before + at, size), "reduce_scatter in place", count);
}

static void unusual_reductions(MPI_Comm comm, int count) {
    unsigned long own[4] = {1, (unsigned long)rank + 1, 1, 0}, got[4], right[4] = {1, 0, 0, 1};
    MPI_Datatype matrix;
    MPI_Op product;
    MPI_Type_contiguous(4, MPI_UNSIGNED_LONG, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Op_create(multiply, 0, &product);
    MPI_Allreduce(own, got, 1, matrix, product, comm);
    for (int of = size - 1; of >= 0; --of) {
        unsigned long left[4] = {1, (unsigned long)of + 1, 1, 0};
        int length = 1;
        multiply(left, right, &length, &matrix);
    }
    expect(memcmp(got, right, sizeof got) == 0, "allreduce of matrices", 1);
    MPI_Op_free(&product);
    MPI_Type_free(&matrix);
    struct {
        double number;
        int where;
    } pair = {rank == size / 2 ? -1 : rank, rank}, least;
    MPI_Allreduce(&pair, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, comm);
    expect(least.where == size / 2, "allreduce of MINLOC", 1);
    (void)count;
}

/* The same data by other types on other ranks. Open MPI's own waits for ever. Of no data MPICH sends an empty
   message where it is elements of no size, for which a rank with no elements does not wait: the next
   broadcast takes it for its own. */
static void other_types(MPI_Comm comm, int count, int root) {
#ifndef OPEN_MPI
    if (count < 2)
        return;
    MPI_Datatype half;
    MPI_Type_contiguous(count / 2, MPI_LONG, &half);
    MPI_Type_commit(&half);
    for (int at = 0; at < count; ++at)
        receive[at] = rank == root ? value(root, at) : -7;
    if (rank % 2)
        MPI_Bcast(receive, 2, half, root, comm);
    else
        MPI_Bcast(receive, count / 2 * 2, MPI_LONG, root, comm);
    for (int at = 0; at < count / 2 * 2; ++at)
        expect(receive[at] == value(root, at), "bcast of other types", count);
    MPI_Type_free(&half);
#else
    (void)comm, (void)count, (void)root;
#endif
}

static void spreading(MPI_Comm comm, int count, int root) {
    MPI_Datatype every_second;
    MPI_Type_vector(count, 1, 2, MPI_LONG, &every_second);
    MPI_Type_commit(&every_second);
    for (int at = 0; at < 2 * count; ++at)
        send[at] = rank == root ? value(root, at) : -7;
    MPI_Bcast(send, 1, every_second, root, comm);
    for (int at = 0; rank != root && at < count; ++at)
        expect(send[2 * at] == value(root, 2 * at) && send[2 * at + 1] == -7, "bcast", count);
    MPI_Type_free(&every_second);
    other_types(comm, count, root);
    int each = count / size;
    for (int at = 0; at < each * size; ++at)
        send[at] = value(rank, at);
    MPI_Scatter(send, each, MPI_LONG, receive, each, MPI_LONG, root, comm);
    for (int at = 0; at < each; ++at)
        expect(receive[at] == value(root, rank * each + at), "scatter", each);
    MPI_Gather(send, each, MPI_LONG, receive, each, MPI_LONG, root, comm);
    for (int at = 0; rank == root && at < each * size; ++at)
        expect(receive[at] == value(at / each, at % each), "gather", each);
    MPI_Allgather(send, each, MPI_LONG, receive, each, MPI_LONG, comm);
    for (int at = 0; at < each * size; ++at)
        expect(receive[at] == value(at / each, at % each), "allgather", each);
    for (int at = 0; at < each * size; ++at)
        receive[at] = at / each == rank ? send[at % each] : -1;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, receive, each, MPI_LONG, comm);
    for (int at = 0; at < each * size; ++at)
        expect(receive[at] == value(at / each, at % each), "allgather in place", each);
    MPI_Alltoall(send, each, MPI_LONG, receive, each, MPI_LONG, comm);
    for (int at = 0; at < each * size; ++at)
        expect(receive[at] == value(at / each, rank * each + at % each), "alltoall", each);
}

static void uneven(MPI_Comm comm, int count, int root) {
    int counts[64], places[64], total = 0;
    for (int of = 0; of < size; ++of) {
        counts[of] = of % 3 == 1 ? 0 : count / size / (of + 1);
        places[of] = total;
        total += counts[of] + 1;
    }
    fill(count);
    memset(receive, -1, sizeof(long) * (size_t)(total + 1));
    MPI_Allgatherv(send, counts[rank], MPI_LONG, receive, counts, places, MPI_LONG, comm);
    for (int of = 0; of < size; ++of)
        for (int at = 0; at < counts[of]; ++at)
            expect(receive[places[of] + at] == value(of, at), "allgatherv", count);
    memset(receive, -1, sizeof(long) * (size_t)(total + 1));
    MPI_Gatherv(send, counts[rank], MPI_LONG, receive, counts, places, MPI_LONG, root, comm);
    for (int of = 0; rank == root && of < size; ++of)
        for (int at = 0; at < counts[of]; ++at)
            expect(receive[places[of] + at] == value(of, at), "gatherv", count);
    for (int at = 0; at < total; ++at)
        send[at] = value(rank, at);
    MPI_Scatterv(send, counts, places, MPI_LONG, receive, counts[rank], MPI_LONG, root, comm);
    for (int at = 0; at < counts[rank]; ++at)
        expect(receive[at] == value(root, places[rank] + at), "scatterv", count);
    int from_each[64], at_each[64];
    for (int of = 0; of < size; ++of)
        from_each[of] = counts[rank], at_each[of] = of * (counts[rank] + 1);
    MPI_Alltoallv(send, counts, places, MPI_LONG, receive, from_each, at_each, MPI_LONG, comm);
    for (int of = 0; of < size; ++of)
        for (int at = 0; at < counts[rank]; ++at)
            expect(receive[at_each[of] + at] == value(of, places[rank] + at), "alltoallv", count);
    /* In place, what two ranks have for each other is of one size. */
    for (int of = 0, at = 0; of < size; at += from_each[of++])
        from_each[of] = count / size / (1 + abs(of - rank)), at_each[of] = at;
    fill(count);
    for (int of = 0; of < size; ++of)
        for (int at = 0; at < from_each[of]; ++at)
            receive[at_each[of] + at] = value(rank, of * 7 + at);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, receive, from_each, at_each, MPI_LONG, comm);
    for (int of = 0; of < size; ++of)
        for (int at = 0; at < from_each[of]; ++at)
            expect(receive[at_each[of] + at] == value(of, rank * 7 + at), "alltoallv in place", count);
}

static void all(MPI_Comm comm, int turn) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const int count = sizes[turn % (int)(sizeof sizes / sizeof *sizes)], root = turn % size;
    reductions(comm, count, root);
    unusual_reductions(comm, count);
    spreading(comm, count, root);
    uneven(comm, count, root);
    MPI_Barrier(comm);
}

static int raised;
static void count_errors(MPI_Comm* comm, int* code, ...) {
    (void)comm, (void)code;
    ++raised;
}

/* An error goes to the handler of the communicator it happened on. */
static void errors(void) {
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(count_errors, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    expect(MPI_Bcast(send, -1, MPI_LONG, 0, comm) != MPI_SUCCESS && raised == 1, "error of a count", -1);
    expect(MPI_Bcast(send, 1, MPI_LONG, 12345, comm) != MPI_SUCCESS && raised == 2, "error of a root", 1);
    expect(MPI_Allreduce(send, receive, 1, MPI_LONG, MPI_OP_NULL, comm) != MPI_SUCCESS && raised == 3,
           "error of an op", 1);
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_LONG, &pair);
    MPI_Type_commit(&pair);
    for (int call = 0; call < 40; ++call)
        expect(MPI_Allreduce(send, receive, 1, pair, MPI_SUM, comm) != MPI_SUCCESS && raised == 4 + call,
               "error of an op on a type", 1);
    MPI_Type_free(&pair);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
}

static void many_short_lived(int how_many) {
    for (int at = 0; at < how_many; ++at) {
        MPI_Comm comm;
        long sum = 0, one = 1;
        int ranks;
        MPI_Comm_split(MPI_COMM_WORLD, at % 3 == 0 ? 0 : rank % 2, -rank, &comm);
        MPI_Comm_size(comm, &ranks);
        for (int call = 0; call < (at % 50 == 0 ? 20 : 2); ++call)
            MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, comm);
        expect(sum == ranks, "allreduce on a short-lived communicator", 1);
        MPI_Comm_free(&comm);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int rounds = argc > 1 ? atoi(argv[1]) : 1;
    MPI_Comm half, reversed, copy;
    int of_world;
    MPI_Comm_rank(MPI_COMM_WORLD, &of_world);
    MPI_Comm_split(MPI_COMM_WORLD, of_world % 2, of_world, &half);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -of_world, &reversed);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    for (int turn = 0; turn < rounds; ++turn) {
        all(MPI_COMM_WORLD, turn);
        all(half, turn + 1);
        all(reversed, turn + 2);
        all(copy, turn);
        all(MPI_COMM_SELF, turn);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2)
        errors();
    many_short_lived(argc > 3 ? atoi(argv[3]) : 300);
    MPI_Comm_free(&half);
    MPI_Comm_free(&reversed);
    MPI_Comm_free(&copy);
    int any = 0;
    MPI_Reduce(&wrong, &any, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (of_world == 0 && !any)
        printf("right\n");
    MPI_Finalize();
    return any != 0;
}
