/* A program made of phases, each of which is slow for one reason at the most.
 *
 *   mpiexec -n 2 ./phases churn:48m:1:20 pingpong:8:20000 compute:2000
 *
 * A phase is NAME:NUMBER:…, sizes with k or m; every one ends before the next begins. Rank 0 prints a
 * checksum that depends on neither times nor settings. Compiled with OpenMP, `threads` runs parallel regions.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, NUMBERS = 4, BURST = 64 };

static int rank, ranks;
static uint64_t checksum;

/* Dependent integer steps: time that no setting changes. */
static uint64_t work(uint64_t steps, uint64_t seed) {
    for (uint64_t i = 0; i < steps; i++)
        seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed;
}

static void* memory(size_t bytes) {
    void* found = malloc(bytes);
    if (!found)
        MPI_Abort(MPI_COMM_WORLD, 2);
    return found;
}

static char* filled(size_t bytes) {
    char* found = memory(bytes);
    memset(found, rank + 1, bytes);
    return found;
}

/* compute:STEPS (thousands) */
static void compute(const size_t* n) { checksum += work(n[0] * 1000, (uint64_t)rank) & 0xffff; }

/* churn:BYTES:BLOCKS:ROUNDS: blocks allocated, touched and freed, all of a round alive at once. */
static void churn(const size_t* n) {
    char** blocks = memory(n[1] * sizeof *blocks);
    for (size_t round = 0; round < n[2]; round++) {
        for (size_t b = 0; b < n[1]; b++) {
            blocks[b] = memory(n[0]);
            for (size_t i = 0; i < n[0]; i += PAGE)
                ((volatile char*)blocks[b])[i] = (char)round;
        }
        for (size_t b = 0; b < n[1]; b++) {
            checksum += (unsigned char)blocks[b][0];
            free(blocks[b]);
        }
    }
    free(blocks);
}

/* random:BYTES:STEPS (thousands): each access depends on the one before, all over a large array. */
static void scattered(const size_t* n) {
    uint64_t count = n[0] / sizeof(uint64_t), seed = 1;
    uint64_t* table = (uint64_t*)filled(n[0]);
    for (size_t i = 0; i < n[1] * 1000; i++)
        seed = work(1, seed + (table[(seed >> 20) % count] & 1));
    checksum += seed & 0xffff;
    free(table);
}

/* stream:BYTES:ROUNDS: passes over memory that is allocated once. */
static void stream(const size_t* n) {
    size_t count = n[0] / sizeof(double);
    double *a = memory(n[0]), *b = memory(n[0]);
    for (size_t i = 0; i < count; i++) {
        a[i] = 1.0;
        b[i] = (double)(i % 8);
    }
    for (size_t round = 0; round < n[1]; round++)
        for (size_t i = 0; i < count; i++)
            a[i] = 0.5 * a[i] + b[i];
    checksum += (uint64_t)a[count - 1];
    free(a);
    free(b);
}

/* pingpong:BYTES:ROUNDS between ranks 0 and 1, 2 and 3, … */
static void pingpong(const size_t* n) {
    char* buffer = filled(n[0]);
    int peer = rank ^ 1, bytes = (int)n[0];
    for (size_t round = 0; peer < ranks && round < n[1]; round++) {
        if (rank < peer)
            MPI_Send(buffer, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
        MPI_Recv(buffer, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank > peer)
            MPI_Send(buffer, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    }
    checksum += (unsigned char)buffer[n[0] - 1];
    free(buffer);
}

/* halo:BYTES:ROUNDS: every rank sends to the next and receives from the one before. */
static void halo(const size_t* n) {
    char *out = filled(n[0]), *in = filled(n[0]);
    for (size_t round = 0; round < n[1]; round++)
        MPI_Sendrecv(out, (int)n[0], MPI_BYTE, (rank + 1) % ranks, 0, in, (int)n[0], MPI_BYTE,
                     (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    checksum += (unsigned char)in[n[0] - 1];
    free(out);
    free(in);
}

/* late:BYTES:ROUNDS:STEPS (thousands): the even rank sends before it computes, the odd one receives after.
 * A message that waits for its receiver makes the even rank compute when the odd one has ended. */
static void late(const size_t* n) {
    char *out = filled(n[0]), *in = filled(n[0]);
    int peer = rank ^ 1, bytes = (int)n[0];
    for (size_t round = 0; peer < ranks && round < n[1]; round++) {
        if (rank < peer)
            MPI_Send(out, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
        checksum += work(n[2] * 1000, round) & 0xff;
        MPI_Recv(in, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank > peer)
            MPI_Send(out, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    }
    checksum += (unsigned char)in[n[0] - 1];
    free(out);
    free(in);
}

/* burst:BYTES:ROUNDS: many messages under way at once in both directions. */
static void burst(const size_t* n) {
    char *out = filled(n[0] * BURST), *in = filled(n[0] * BURST);
    MPI_Request requests[2 * BURST];
    int peer = rank ^ 1, bytes = (int)n[0];
    for (size_t round = 0; peer < ranks && round < n[1]; round++) {
        for (int i = 0; i < BURST; i++) {
            MPI_Irecv(in + i * n[0], bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
            MPI_Isend(out + i * n[0], bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[BURST + i]);
        }
        MPI_Waitall(2 * BURST, requests, MPI_STATUSES_IGNORE);
    }
    checksum += (unsigned char)in[n[0] * BURST - 1];
    free(out);
    free(in);
}

/* allreduce:BYTES:ROUNDS */
static void allreduce(const size_t* n) {
    int count = (int)(n[0] / sizeof(int64_t));
    int64_t *mine = memory(n[0]), *sum = memory(n[0]);
    for (int i = 0; i < count; i++)
        mine[i] = rank + i % 7;
    for (size_t round = 0; round < n[1]; round++)
        MPI_Allreduce(mine, sum, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    checksum += (uint64_t)sum[count - 1];
    free(mine);
    free(sum);
}

/* bcast:BYTES:ROUNDS */
static void bcast(const size_t* n) {
    char* buffer = filled(n[0]);
    for (size_t round = 0; round < n[1]; round++)
        MPI_Bcast(buffer, (int)n[0], MPI_BYTE, (int)(round % (size_t)ranks), MPI_COMM_WORLD);
    checksum += (unsigned char)buffer[n[0] - 1];
    free(buffer);
}

/* alltoall:BYTES:ROUNDS, so many bytes for each rank */
static void alltoall(const size_t* n) {
    char *out = filled(n[0] * (size_t)ranks), *in = filled(n[0] * (size_t)ranks);
    for (size_t round = 0; round < n[1]; round++)
        MPI_Alltoall(out, (int)n[0], MPI_BYTE, in, (int)n[0], MPI_BYTE, MPI_COMM_WORLD);
    checksum += (unsigned char)in[n[0] * (size_t)ranks - 1];
    free(out);
    free(in);
}

/* barrier:ROUNDS */
static void barrier(const size_t* n) {
    for (size_t round = 0; round < n[0]; round++)
        MPI_Barrier(MPI_COMM_WORLD);
}

/* threads:REGIONS:STEPS: parallel regions, the same work whatever the number of threads. */
static void threads(const size_t* n) {
    for (size_t region = 0; region < n[0]; region++) {
        uint64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
        for (int part = 0; part < 16; part++)
            sum += work(n[1], region + (uint64_t)part) & 0xff;
        checksum += sum;
    }
}

static const struct {
    const char* name;
    void (*run)(const size_t*);
} PHASES[] = {
    {"compute", compute},     {"churn", churn}, {"random", scattered},  {"stream", stream},
    {"pingpong", pingpong},   {"halo", halo},   {"late", late},         {"burst", burst},
    {"allreduce", allreduce}, {"bcast", bcast}, {"alltoall", alltoall}, {"barrier", barrier},
    {"threads", threads},
};

static void run_phase(const char* word) {
    size_t numbers[NUMBERS] = {1, 1, 1, 1}, length = strcspn(word, ":");
    const char* next = word + length;
    for (int i = 0; i < NUMBERS && *next == ':'; i++) {
        char* end;
        numbers[i] = strtoull(next + 1, &end, 10);
        if (*end == 'k' || *end == 'm')
            numbers[i] <<= *end++ == 'k' ? 10 : 20;
        next = end;
    }
    for (size_t i = 0; i < sizeof PHASES / sizeof *PHASES; i++)
        if (strlen(PHASES[i].name) == length && !strncmp(PHASES[i].name, word, length)) {
            PHASES[i].run(numbers);
            return;
        }
    fprintf(stderr, "no phase is called %s\n", word);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

int main(int argc, char** argv) {
    uint64_t all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 1; i < argc; i++)
        run_phase(argv[i]);
    MPI_Reduce(&checksum, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("checksum %llu\n", (unsigned long long)all);
    MPI_Finalize();
    return 0;
}
