/* An independent count: what each rank calls, how long it takes, and what it sends to whom, one JSON file a
 * rank.
 *
 * To be preloaded behind the recording runtime. Everything by the profiling interface, nothing in common with
 * the runtime. The file is $COUNTS/<rank>.json.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };
static struct {
    const char* name;
    long long calls;
    double seconds;
} count[MOST];
static long long* messages;
static long long* bytes;
static int size;

static void add(const char* name, double seconds) {
    int at = 0;
    while (at < MOST - 1 && count[at].name && strcmp(count[at].name, name) != 0)
        ++at;
    count[at].name = name;
    ++count[at].calls;
    count[at].seconds += seconds;
}

static void sent(MPI_Comm comm, int to, long long elements, MPI_Datatype type) {
    MPI_Group here, world;
    int width, there = MPI_UNDEFINED;
    if (to == MPI_PROC_NULL)
        return;
    PMPI_Comm_group(comm, &here);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(here, 1, &to, world, &there);
    PMPI_Group_free(&here);
    PMPI_Group_free(&world);
    PMPI_Type_size(type, &width);
    ++messages[there];
    bytes[there] += elements * width;
}

static void start(void) {
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    messages = calloc(size, sizeof *messages);
    bytes = calloc(size, sizeof *bytes);
}

#define TIMED(name, call)                                                                                    \
    const double begin = PMPI_Wtime();                                                                       \
    const int result = P##name call;                                                                         \
    add(#name, PMPI_Wtime() - begin);                                                                        \
    return result

int MPI_Init(int* argc, char*** argv) {
    const int result = PMPI_Init(argc, argv);
    start();
    return result;
}
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    const int result = PMPI_Init_thread(argc, argv, required, provided);
    start();
    return result;
}

#define SEND(name)                                                                                           \
    int name(const void* from, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm) {                   \
        sent(comm, to, n, type);                                                                             \
        TIMED(name, (from, n, type, to, tag, comm));                                                         \
    }
SEND(MPI_Send)
SEND(MPI_Ssend)
SEND(MPI_Rsend)

#define ISEND(name)                                                                                          \
    int name(const void* from, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* req) { \
        sent(comm, to, n, type);                                                                             \
        TIMED(name, (from, n, type, to, tag, comm, req));                                                    \
    }
ISEND(MPI_Isend)
ISEND(MPI_Irsend)

int MPI_Sendrecv(const void* from, int n, MPI_Datatype type, int to, int tag, void* into, int room,
                 MPI_Datatype into_type, int source, int into_tag, MPI_Comm comm, MPI_Status* status) {
    sent(comm, to, n, type);
    TIMED(MPI_Sendrecv, (from, n, type, to, tag, into, room, into_type, source, into_tag, comm, status));
}
int MPI_Recv(void* into, int n, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
    TIMED(MPI_Recv, (into, n, type, source, tag, comm, status));
}
int MPI_Irecv(void* into, int n, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* req) {
    TIMED(MPI_Irecv, (into, n, type, source, tag, comm, req));
}
int MPI_Wait(MPI_Request* request, MPI_Status* status) { TIMED(MPI_Wait, (request, status)); }
int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[]) {
    TIMED(MPI_Waitall, (n, requests, statuses));
}
int MPI_Barrier(MPI_Comm comm) { TIMED(MPI_Barrier, (comm)); }
int MPI_Bcast(void* data, int n, MPI_Datatype type, int root, MPI_Comm comm) {
    TIMED(MPI_Bcast, (data, n, type, root, comm));
}
int MPI_Allreduce(const void* from, void* into, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    TIMED(MPI_Allreduce, (from, into, n, type, op, comm));
}
int MPI_Reduce(const void* from, void* into, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
    TIMED(MPI_Reduce, (from, into, n, type, op, root, comm));
}
int MPI_Scan(const void* from, void* into, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    TIMED(MPI_Scan, (from, into, n, type, op, comm));
}
int MPI_Alltoall(const void* from, int n, MPI_Datatype type, void* into, int room, MPI_Datatype into_type,
                 MPI_Comm comm) {
    TIMED(MPI_Alltoall, (from, n, type, into, room, into_type, comm));
}
int MPI_Allgather(const void* from, int n, MPI_Datatype type, void* into, int room, MPI_Datatype into_type,
                  MPI_Comm comm) {
    TIMED(MPI_Allgather, (from, n, type, into, room, into_type, comm));
}

int MPI_Finalize(void) {
    char path[4096];
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/%d.json", getenv("COUNTS"), rank);
    FILE* file = fopen(path, "w");
    if (file) {
        fprintf(file, "{\"calls\": {");
        for (int at = 0; at < MOST && count[at].name; ++at)
            fprintf(file, "%s\"%s\": [%lld, %.9f]", at ? ", " : "", count[at].name, count[at].calls,
                    count[at].seconds);
        fprintf(file, "}, \"sent\": [");
        for (int to = 0; to < size; ++to)
            fprintf(file, "%s[%lld, %lld]", to ? ", " : "", messages[to], bytes[to]);
        fprintf(file, "]}\n");
        fclose(file);
    }
    return PMPI_Finalize();
}
