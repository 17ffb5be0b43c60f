/* Flips one bit in the n-th message that a rank sends to another or itself, or in the n-th result of a
 * reduction or broadcast that it gets. Preloaded behind mpiric's runtime, so that the runtime sees what the
 * program sees.
 *
 * FLIP_KIND message|result, FLIP_RANK, FLIP_NTH (from 1; 0: only count), FLIP_BIT (taken modulo the length),
 * FLIP_COUNTS: a file that each rank makes, with its number appended: messages and results so far, bits
 * flipped, and the nanoseconds of the wall clock at which one was. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { messages, results, flipped, moment, counts };
static volatile uint64_t nowhere[counts], *counted = nowhere;
static int is_rank, of_kind;
static uint64_t nth, bit;

static uint64_t number(const char* name) {
    const char* text = getenv(name);
    return text ? strtoull(text, NULL, 10) : 0;
}

static void begin(void) {
    int rank;
    char path[4096];
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char* kind = getenv("FLIP_KIND");
    of_kind = kind && strcmp(kind, "result") == 0 ? results : messages;
    is_rank = (uint64_t)rank == number("FLIP_RANK");
    nth = number("FLIP_NTH");
    bit = number("FLIP_BIT");
    snprintf(path, sizeof path, "%s.%d", getenv("FLIP_COUNTS") ? getenv("FLIP_COUNTS") : "/dev/null", rank);
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || ftruncate(file, sizeof nowhere))
        return;
    void* mapped = mmap(NULL, sizeof nowhere, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED)
        counted = mapped;
    close(file);
}

/* Bytes of so many elements that lie one after the other, 0 for others. */
static size_t length(int count, MPI_Datatype type) {
    int size;
    MPI_Aint low, extent;
    PMPI_Type_size(type, &size);
    PMPI_Type_get_extent(type, &low, &extent);
    return low == 0 && extent == size && count > 0 ? (size_t)count * (size_t)size : 0;
}

static int is_due(int kind) { return ++counted[kind] == nth && is_rank && of_kind == kind; }

static void flip(void* data, size_t bytes) {
    const uint64_t at = bit % (8 * bytes);
    ((unsigned char*)data)[at / 8] ^= (unsigned char)(1u << (at % 8));
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    counted[moment] = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    counted[flipped] = 1;
}

static void result(void* data, int count, MPI_Datatype type) {
    const size_t bytes = length(count, type);
    if (bytes && is_due(results))
        flip(data, bytes);
}

/* What is sent instead: a copy that stays, as the message may still be under way. */
static const void* sent(const void* data, int count, MPI_Datatype type, int to) {
    const size_t bytes = to == MPI_PROC_NULL ? 0 : length(count, type);
    if (!bytes || !is_due(messages))
        return data;
    void* copy = malloc(bytes);
    memcpy(copy, data, bytes);
    flip(copy, bytes);
    return copy;
}

int MPI_Init(int* argc, char*** argv) {
    const int status = PMPI_Init(argc, argv);
    begin();
    return status;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    const int status = PMPI_Init_thread(argc, argv, required, provided);
    begin();
    return status;
}

int MPI_Allreduce(const void* in, void* out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    const int status = PMPI_Allreduce(in, out, n, type, op, comm);
    result(out, n, type);
    return status;
}

int MPI_Reduce(const void* in, void* out, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
    int rank;
    const int status = PMPI_Reduce(in, out, n, type, op, root, comm);
    PMPI_Comm_rank(comm, &rank);
    if (rank == root)
        result(out, n, type);
    return status;
}

int MPI_Bcast(void* data, int n, MPI_Datatype type, int root, MPI_Comm comm) {
    int rank;
    const int status = PMPI_Bcast(data, n, type, root, comm);
    PMPI_Comm_rank(comm, &rank);
    if (rank != root)
        result(data, n, type);
    return status;
}

int MPI_Send(const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    return PMPI_Send(sent(data, n, type, to), n, type, to, tag, comm);
}

int MPI_Isend(const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
    return PMPI_Isend(sent(data, n, type, to), n, type, to, tag, comm, request);
}

int MPI_Sendrecv(const void* data, int n, MPI_Datatype type, int to, int tag, void* in, int n_in,
                 MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status* status) {
    return PMPI_Sendrecv(sent(data, n, type, to), n, type, to, tag, in, n_in, in_type, from, in_tag, comm,
                         status);
}
