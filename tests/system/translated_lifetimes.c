/* Creates and frees `count` objects of each kind that a translation keeps something for, and prints how many
 * KiB the process has grown by in the last nine tenths: "NAME KIB". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
    (void)type;
    for (int at = 0; at < *count; ++at)
        ((int*)inout)[at] += ((int*)in)[at];
}
static void handle(MPI_Comm* comm, int* code, ...) {
    (void)comm;
    (void)code;
}
static int copy(MPI_Comm comm, int keyval, void* extra, void* from, void* to, int* flag) {
    (void)comm, (void)keyval, (void)extra;
    *(void**)to = from;
    *flag = 1;
    return MPI_SUCCESS;
}

static void operation(MPI_Comm comm) {
    MPI_Op op;
    (void)comm;
    MPI_Op_create(add, 1, &op);
    MPI_Op_free(&op);
}
static void keyval(MPI_Comm comm) {
    static long made = 0; /* each has an extra state of its own */
    int key;
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, (void*)++made);
    MPI_Comm_set_attr(comm, key, &made);
    MPI_Comm_delete_attr(comm, key);
    MPI_Comm_free_keyval(&key);
}
static void handler(MPI_Comm comm) {
    MPI_Errhandler handler;
    (void)comm;
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Errhandler_free(&handler);
}
static void requests(MPI_Comm comm) {
    int sent = 1, received = 0;
    MPI_Request both[2];
    MPI_Irecv(&received, 1, MPI_INT, 0, 1, comm, &both[0]);
    MPI_Isend(&sent, 1, MPI_INT, 0, 1, comm, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
}
static void persistent(MPI_Comm comm) {
    int value = 0;
    MPI_Request request;
    MPI_Send_init(&value, 1, MPI_INT, 0, 1, comm, &request);
    MPI_Request_free(&request);
}

static void exchange(MPI_Comm comm) {
    int one = 1, place = 0, sent = 1, received = 0;
    MPI_Datatype type = MPI_INT;
    MPI_Request request;
    MPI_Ialltoallw(&sent, &one, &place, &type, &received, &one, &place, &type, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static long resident_kib(void) {
    long whole = 0, resident = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &whole, &resident) != 2)
        exit(1);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(int argc, char** argv) {
    const long count = argc > 1 ? atol(argv[1]) : 1000;
    const struct {
        const char* name;
        void (*make)(MPI_Comm);
    } kinds[] = {{"operations", operation}, {"keyvals", keyval},        {"handlers", handler},
                 {"requests", requests},    {"persistent", persistent}, {"exchanges", exchange}};
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    for (unsigned kind = 0; kind < sizeof kinds / sizeof *kinds; ++kind) {
        long before = 0;
        for (long at = 0; at < count; ++at) {
            if (at == count / 10)
                before = resident_kib();
            kinds[kind].make(comm);
        }
        printf("%s %ld\n", kinds[kind].name, resident_kib() - before);
    }
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
