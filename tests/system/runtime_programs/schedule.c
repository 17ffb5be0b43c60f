/* schedule SEED STEPS: collectives of all kinds in random order on communicators that come and go, with
   random counts, datatypes, operations, roots and in place, some nonblocking ones under way meanwhile. Every
   rank draws the same schedule. Results are worked out by hand; prints "right" once, or what is wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { places = 6, most_ranks = 64, most_pending = 3, most_count = 20000 };
static unsigned long state;
static int wrong, step, rank, size;
static MPI_Comm comms[places]; /* null: this rank is in none there, or the place is free */
static char taken[places];
static long *out, *in;

static unsigned draw(unsigned below) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (unsigned)((state * 0x2545F4914F6CDD1DUL) >> 33) % below;
}

static void expect(int fact, const char* what, long at) {
    if (!fact && wrong++ < 3)
        printf("step %d, rank %d of %d: %s is wrong at %ld\n", step, rank, size, what, at);
}

/* ---- data */

typedef struct {
    MPI_Datatype handle;
    int stride, longs; /* of an element, in longs */
} Type;
static Type types[3]; /* a number, two neighbours, a number and a gap */

static long value(int of, long at) { return (of * 1009L + at * 7 + step * 31L) % 8191 + 1; }

static void clear(long* where, long elements, Type type) {
    for (long at = 0; at < elements * type.stride; ++at)
        where[at] = -7;
}

static void fill(long* where, long elements, Type type, int of) {
    clear(where, elements, type);
    for (long at = 0; at < elements; ++at)
        for (int part = 0; part < type.longs; ++part)
            where[at * type.stride + part] = value(of, at * type.longs + part);
}

/* Elements `from`… of rank `of` lie here, and nothing between them. */
static void check(const long* where, long elements, Type type, int of, long from, const char* what) {
    for (long at = 0; at < elements; ++at)
        for (int part = 0; part < type.stride; ++part) {
            const long expected = part < type.longs ? value(of, (from + at) * type.longs + part) : -7;
            expect(where[at * type.stride + part] == expected, what, at);
        }
}

/* ---- operations */

/* Of x -> a x + b, for pairs (a, b): associative, not commutative. */
static void compose(const unsigned long* left, unsigned long* right) {
    right[1] += left[1] * right[0];
    right[0] *= left[0];
}
static void compose_all(void* left, void* right, int* count, MPI_Datatype* type) {
    (void)type;
    for (int at = 0; at < *count; ++at)
        compose((unsigned long*)left + 2 * at, (unsigned long*)right + 2 * at);
}

typedef struct {
    MPI_Op handle;
    int type;
} Op;
static Op ops[4];

static void combine(const Op* op, const unsigned long* left, unsigned long* right) {
    if (op->type == 1)
        compose(left, right);
    else if (op->handle == MPI_SUM)
        *right += *left;
    else if (op->handle == MPI_BXOR)
        *right ^= *left;
    else if (*left > *right)
        *right = *left;
}

/* Elements `from`… of what ranks 0 to `last` give. */
static void check_reduced(const long* where, long elements, const Op* op, int last, long from,
                          const char* what) {
    const int longs = types[op->type].longs;
    for (long at = 0; at < elements; ++at) {
        unsigned long sum[2] = {0, 0};
        for (int of = last; of >= 0; --of) {
            unsigned long factor[2] = {0, 0};
            for (int part = 0; part < longs; ++part)
                factor[part] = (unsigned long)value(of, (from + at) * longs + part);
            if (of < last)
                combine(op, factor, sum);
            else
                sum[0] = factor[0], sum[1] = factor[1];
        }
        for (int part = 0; part < longs; ++part)
            expect((unsigned long)where[at * longs + part] == sum[part], what, at);
    }
}

/* ---- calls */

static int counts[most_ranks], starts[most_ranks];

/* Uneven, with zeros and with a gap between the blocks; the sum. */
static int lay_out(int count, int unevenness) {
    int at = 0;
    for (int of = 0; of < size; ++of) {
        counts[of] = (of + unevenness) % 4 == 0 ? 0 : count / (1 + (of + unevenness) % 3);
        starts[of] = at;
        at += counts[of] + 1;
    }
    return at;
}

static void reduce_one(unsigned kind, MPI_Comm comm, int count, int root, int in_place) {
    const Op* op = &ops[draw(4)];
    const Type type = types[op->type];
    const int each = count / size, before = each * rank;
    const void* from = in_place ? MPI_IN_PLACE : out;
    fill(in_place ? in : out, count, type, rank);
    if (!in_place)
        clear(in, count, type);
    switch (kind) {
    case 0:
        MPI_Allreduce(from, in, count, type.handle, op->handle, comm);
        check_reduced(in, count, op, size - 1, 0, "allreduce");
        break;
    case 1: /* elsewhere than on rank 0, MPICH 4.0 copies from MPI_IN_PLACE */
        if (in_place && root != 0)
            root = 0;
        if (in_place && rank != root)
            MPI_Reduce(in, NULL, count, type.handle, op->handle, root, comm);
        else
            MPI_Reduce(from, in, count, type.handle, op->handle, root, comm);
        if (rank == root)
            check_reduced(in, count, op, size - 1, 0, "reduce");
        break;
    case 2:
        MPI_Scan(from, in, count, type.handle, op->handle, comm);
        check_reduced(in, count, op, rank, 0, "scan");
        break;
    case 3:
        MPI_Exscan(from, in, count, type.handle, op->handle, comm);
        if (rank > 0)
            check_reduced(in, count, op, rank - 1, 0, "exscan");
        break;
    case 4:
        MPI_Reduce_scatter_block(from, in, each, type.handle, op->handle, comm);
        check_reduced(in, each, op, size - 1, before, "reduce_scatter_block");
        break;
    default: {
        int first = 0, left = count;
        for (int of = 0; of < size; ++of) {
            counts[of] = of == size - 1 ? left : (of + step) % 3 ? left / 2 : 0;
            left -= counts[of];
            first += of < rank ? counts[of] : 0;
        }
        MPI_Reduce_scatter(from, in, counts, type.handle, op->handle, comm);
        check_reduced(in, counts[rank], op, size - 1, first, "reduce_scatter");
    }
    }
}

static void move_blocks(unsigned kind, MPI_Comm comm, int count, int root, int in_place) {
    const Type type = types[draw(3)];
    const int each = count / size;
    const MPI_Datatype mpi = type.handle;
    const long block = (long)each * type.stride;
    clear(in, (long)each * size, type);
    switch (kind) {
    case 0:
        fill(in, count, type, rank);
        MPI_Bcast(in, count, mpi, root, comm);
        check(in, count, type, root, 0, "bcast");
        break;
    case 1:
        fill(in_place && rank == root ? in + rank * block : out, each, type, rank);
        MPI_Gather(in_place && rank == root ? MPI_IN_PLACE : out, each, mpi, in, each, mpi, root, comm);
        for (int of = 0; rank == root && of < size; ++of)
            check(in + of * block, each, type, of, 0, "gather");
        break;
    case 2:
        fill(out, (long)each * size, type, rank);
        MPI_Scatter(out, each, mpi, in_place && rank == root ? MPI_IN_PLACE : in, each, mpi, root, comm);
        if (!in_place || rank != root)
            check(in, each, type, root, (long)each * rank, "scatter");
        break;
    case 3:
        fill(in_place ? in + rank * block : out, each, type, rank);
        MPI_Allgather(in_place ? MPI_IN_PLACE : out, each, mpi, in, each, mpi, comm);
        for (int of = 0; of < size; ++of)
            check(in + of * block, each, type, of, 0, "allgather");
        break;
    default:
        fill(in_place ? in : out, (long)each * size, type, rank);
        MPI_Alltoall(in_place ? MPI_IN_PLACE : out, each, mpi, in, each, mpi, comm);
        for (int of = 0; of < size; ++of)
            check(in + of * block, each, type, of, (long)each * rank, "alltoall");
    }
}

static void move_uneven(unsigned kind, MPI_Comm comm, int count, int root) {
    const Type type = types[draw(3)];
    const MPI_Datatype mpi = type.handle;
    const int all = lay_out(count / size, step);
    clear(in, all, type);
    switch (kind) {
    case 0:
        fill(out, counts[rank], type, rank);
        MPI_Gatherv(out, counts[rank], mpi, in, counts, starts, mpi, root, comm);
        for (int of = 0; rank == root && of < size; ++of)
            check(in + (long)starts[of] * type.stride, counts[of], type, of, 0, "gatherv");
        break;
    case 1:
        fill(out, all, type, rank);
        MPI_Scatterv(out, counts, starts, mpi, in, counts[rank], mpi, root, comm);
        check(in, counts[rank], type, root, starts[rank], "scatterv");
        break;
    case 2:
        fill(out, counts[rank], type, rank);
        MPI_Allgatherv(out, counts[rank], mpi, in, counts, starts, mpi, comm);
        for (int of = 0; of < size; ++of)
            check(in + (long)starts[of] * type.stride, counts[of], type, of, 0, "allgatherv");
        break;
    default: {
        int mine[most_ranks], there[most_ranks];
        for (int of = 0; of < size; ++of)
            mine[of] = counts[rank], there[of] = of * (counts[rank] + 1);
        fill(out, all, type, rank);
        clear(in, (long)size * (counts[rank] + 1), type);
        MPI_Alltoallv(out, counts, starts, mpi, in, mine, there, mpi, comm);
        for (int of = 0; of < size; ++of)
            check(in + (long)there[of] * type.stride, mine[of], type, of, starts[rank], "alltoallv");
    }
    }
}

/* ---- what does not block */

static struct {
    MPI_Request request;
    int active, place, begun, rank, size, count, root, kind;
    long out[1000], in[1000];
} pending[most_pending];

static void finish(int at) {
    if (!pending[at].active)
        return;
    MPI_Wait(&pending[at].request, MPI_STATUS_IGNORE);
    const int now = step;
    pending[at].active = 0, step = pending[at].begun, rank = pending[at].rank, size = pending[at].size;
    if (pending[at].kind == 0)
        check_reduced(pending[at].in, pending[at].count, &ops[0], size - 1, 0, "iallreduce");
    else
        check(pending[at].in, pending[at].count, types[0], pending[at].root, 0, "ibcast");
    step = now;
}

static void start(int at, int place, int count, int root) {
    finish(at);
    if (comms[place] == MPI_COMM_NULL)
        return;
    pending[at].active = 1, pending[at].place = place, pending[at].begun = step;
    MPI_Comm_rank(comms[place], &rank);
    MPI_Comm_size(comms[place], &size);
    pending[at].rank = rank, pending[at].size = size, pending[at].count = count;
    pending[at].root = root % size, pending[at].kind = step % 2;
    fill(pending[at].out, count, types[0], rank);
    fill(pending[at].in, count, types[0], rank);
    if (pending[at].kind == 0)
        MPI_Iallreduce(pending[at].out, pending[at].in, count, MPI_LONG, ops[0].handle, comms[place],
                       &pending[at].request);
    else
        MPI_Ibcast(pending[at].in, count, MPI_LONG, root % size, comms[place], &pending[at].request);
}

/* ---- the schedule */

static void leave(int place) {
    for (int at = 0; at < most_pending; ++at)
        if (pending[at].place == place)
            finish(at);
    if (taken[place] && comms[place] != MPI_COMM_NULL)
        MPI_Comm_free(&comms[place]);
    comms[place] = MPI_COMM_NULL, taken[place] = 0;
}

static void make(int place, int from) {
    const unsigned kind = draw(4), parts = 1 + draw(3), shift = draw(8);
    leave(place);
    taken[place] = 1;
    if (comms[from] == MPI_COMM_NULL)
        return;
    MPI_Comm_rank(comms[from], &rank);
    const int color = kind == 3 && (unsigned)rank % 3 == shift % 3 ? MPI_UNDEFINED
                                                                   : (int)(((unsigned)rank + shift) % parts);
    if (kind == 0)
        MPI_Comm_dup(comms[from], &comms[place]);
    else
        MPI_Comm_split(comms[from], color, kind == 2 ? -rank : rank, &comms[place]);
}

static void call(int place) {
    static const int some[] = {0, 1, 2, 3, 7, 16, 37, 100, 1000, 4097, most_count};
    const unsigned kind = draw(16);
    const int count = some[draw(sizeof some / sizeof *some)], root = (int)draw(most_ranks);
    const int in_place = draw(3) == 0;
    const unsigned long before = state;
    if (comms[place] != MPI_COMM_NULL) {
        MPI_Comm_rank(comms[place], &rank);
        MPI_Comm_size(comms[place], &size);
        if (kind < 6)
            reduce_one(kind, comms[place], count, root % size, in_place);
        else if (kind < 11)
            move_blocks(kind - 6, comms[place], count, root % size, in_place);
        else if (kind < 15)
            move_uneven(kind - 11, comms[place], count, root % size);
        else
            MPI_Barrier(comms[place]);
    }
    state = before; /* what the call drew, some ranks did not */
    draw(2);
}

static void prepare(void) {
    types[0] = (Type){MPI_LONG, 1, 1};
    types[1] = (Type){MPI_DATATYPE_NULL, 2, 2};
    types[2] = (Type){MPI_DATATYPE_NULL, 2, 1};
    MPI_Type_contiguous(2, MPI_LONG, &types[1].handle);
    MPI_Type_create_resized(MPI_LONG, 0, 2 * sizeof(long), &types[2].handle);
    MPI_Type_commit(&types[1].handle);
    MPI_Type_commit(&types[2].handle);
    ops[0] = (Op){MPI_SUM, 0}, ops[1] = (Op){MPI_MAX, 0}, ops[2] = (Op){MPI_BXOR, 0};
    ops[3] = (Op){MPI_OP_NULL, 1};
    MPI_Op_create(compose_all, 0, &ops[3].handle);
    const size_t room = sizeof(long) * 2 * (most_count + 2 * most_ranks);
    out = malloc(room), in = malloc(room);
    for (int at = 0; at < places; ++at)
        comms[at] = MPI_COMM_NULL;
    comms[0] = MPI_COMM_WORLD, taken[0] = 1;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    if (argc != 3)
        return 2;
    prepare();
    state = strtoul(argv[1], NULL, 10) * 0x9E3779B97F4A7C15UL + 1;
    for (step = 1; step <= atoi(argv[2]); ++step) {
        const unsigned what = draw(20);
        const int place = (int)draw(places), other = (int)draw(places), at = (int)draw(most_pending);
        const int count = (int)draw(1000), root = (int)draw(most_ranks);
        if (what == 0 && place != 0 && taken[other] && other != place)
            make(place, other);
        else if (what == 1 && place != 0)
            leave(place);
        else if (what < 5 && taken[place])
            start(at, place, count, root);
        else
            call(taken[place] ? place : 0);
    }
    for (int at = 0; at < most_pending; ++at)
        finish(at);
    for (int place = 1; place < places; ++place)
        leave(place);
    MPI_Op_free(&ops[3].handle);
    MPI_Type_free(&types[1].handle);
    MPI_Type_free(&types[2].handle);
    int any = 0, me = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Reduce(&wrong, &any, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (me == 0 && !any)
        printf("right\n");
    MPI_Finalize();
    return any != 0;
}
