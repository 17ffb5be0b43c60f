// Prints one line for each property of the MPI library that a program can query; equal for all libraries.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, calls, copies, deletions;

static void add_all(void* from, void* into, int* count, MPI_Datatype* type) {
    for (int at = 0; at < *count; ++at)
        ((int*)into)[at] += ((int*)from)[at] + (*type == MPI_INT ? 0 : 1000);
}

static void note_error(MPI_Comm* where, int* code, ...) {
    int class;
    MPI_Error_class(*code, &class);
    calls += *where == MPI_COMM_SELF && class == MPI_ERR_RANK ? 1 : 1000;
}

static int copy(MPI_Comm from, int keyval, void* extra, void* in, void* out, int* flag) {
    copies += from == MPI_COMM_SELF && keyval != MPI_KEYVAL_INVALID && extra == &copies;
    *(void**)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int forget(MPI_Comm from, int keyval, void* value, void* extra) {
    deletions += from != MPI_COMM_NULL && value == &size && extra == &copies;
    return MPI_SUCCESS;
}

static void say(const char* what, long value) {
    if (rank == 0)
        printf("%s %ld\n", what, value);
}

static void collectives(void) {
    int own = rank + 1, sum = 0, all = rank;
    MPI_Op op;
    MPI_Op_create(add_all, 1, &op);
    MPI_Allreduce(&own, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    say("user operation", sum * 10 + (op == MPI_OP_NULL));
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    say("in place", all);

    MPI_Request persistent;
    MPI_Allreduce_init(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &persistent);
    for (int turn = 0; turn < 2; ++turn) {
        sum = 0;
        MPI_Start(&persistent);
        MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&persistent);
    say("persistent", 10 * sum + (persistent == MPI_REQUEST_NULL));

    int* counts = calloc(4 * (size_t)size, sizeof *counts);
    MPI_Datatype* types = malloc((size_t)size * sizeof *types);
    int *displacements = counts + size, *sent = counts + 2 * size, *got = counts + 3 * size;
    for (int at = 0; at < size; ++at) {
        counts[at] = 1;
        displacements[at] = at * (int)sizeof(int);
        sent[at] = 10 * rank + at;
        types[at] = MPI_INT;
    }
    MPI_Request request;
    MPI_Ialltoallw(sent, counts, displacements, types, got, counts, displacements, types, MPI_COMM_WORLD,
                   &request);
    memset(types, 0xff, (size_t)size * sizeof *types);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    long right = 0;
    for (int at = 0; at < size; ++at)
        right += got[at] == 10 * at + rank;
    say("alltoallw", right * 10 + (request == MPI_REQUEST_NULL));
    free(types);
    free(counts);
}

static void messages(void) {
    int out = rank, in[4] = {0}, count;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Irecv(in, 4, MPI_INT, (rank + size - 1) % size, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&out, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    MPI_Get_count(&statuses[0], MPI_INT, &count);
    say("tag", statuses[0].MPI_TAG * 10 + count);
    statuses[0].MPI_ERROR = 4711;
    MPI_Recv(in, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &statuses[0]);
    say("nobody", (statuses[0].MPI_SOURCE == MPI_PROC_NULL) * 10 + (statuses[0].MPI_ERROR == 4711));
    int flag = 1;
    memset(statuses, 0xff, sizeof statuses);  // a status may hold anything before
    MPI_Isend(&out, 1, MPI_INT, rank, 8, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv(in, 1, MPI_INT, rank, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], &statuses[0]);
    MPI_Test_cancelled(&statuses[0], &flag);
    say("cancelled", flag);
    flag = 1;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    say("probe", flag);
    int index, indices[2];
    requests[0] = requests[1] = MPI_REQUEST_NULL;
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    MPI_Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
    say("undefined", (index == MPI_UNDEFINED) * 10 + (count == MPI_UNDEFINED));
}

static void communicators(void) {
    MPI_Comm half, copied;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2 ? MPI_UNDEFINED : 0, rank, &half);
    say("split", half != MPI_COMM_NULL);
    if (half != MPI_COMM_NULL)
        MPI_Comm_free(&half);
    say("freed", half == MPI_COMM_NULL);
    int keyval, flag, *bound, result;
    void* value;
    MPI_Comm_create_keyval(copy, forget, &keyval, &copies);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &size);
    MPI_Comm_dup(MPI_COMM_SELF, &copied);
    MPI_Comm_get_attr(copied, keyval, &value, &flag);
    MPI_Comm_compare(MPI_COMM_SELF, copied, &result);
    MPI_Comm_free(&copied);
    MPI_Comm_delete_attr(MPI_COMM_SELF, keyval);
    MPI_Comm_free_keyval(&keyval);
    say("attribute", (value == &size) * 1000 + flag * 100 + copies * 10 + deletions);
    say("congruent", result == MPI_CONGRUENT);
    say("keyval", keyval == MPI_KEYVAL_INVALID);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag);
    say("largest tag", flag && *bound >= 32767);

    MPI_Errhandler handler, before;
    MPI_Comm_create_errhandler(note_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Comm_get_errhandler(MPI_COMM_SELF, &before);
    MPI_Send(&rank, 1, MPI_INT, 99, 0, MPI_COMM_SELF);
    int length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Error_string(MPI_ERR_RANK, text, &length);
    say("handler", (before == handler) * 100 + calls * 10 + (length > 0));
    MPI_Errhandler_free(&before);
    MPI_Errhandler_free(&handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);

    int dims[1] = {size}, periods[1] = {0}, left, right, topology;
    MPI_Comm line;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &line);
    MPI_Cart_shift(line, 0, 1, &left, &right);
    MPI_Topo_test(line, &topology);
    say("edge", (left == MPI_PROC_NULL) * 10 + (topology == MPI_CART));
    MPI_Comm_free(&line);
}

static void types(void) {
    int sizes[2] = {4, 4}, parts[2] = {2, 2}, starts[2] = {1, 1}, bytes;
    MPI_Datatype block, inner[1];
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_DOUBLE, &block);
    int integers, addresses, datatypes, combiner, contents[8];
    MPI_Aint address[1];
    MPI_Type_get_envelope(block, &integers, &addresses, &datatypes, &combiner);
    MPI_Type_get_contents(block, 8, 1, 1, contents, address, inner);
    MPI_Type_size(block, &bytes);
    say("subarray", (combiner == MPI_COMBINER_SUBARRAY) * 100 + (contents[7] == MPI_ORDER_FORTRAN) * 10 +
                        (inner[0] == MPI_DOUBLE));
    say("bytes", bytes);
    MPI_Type_free(&block);
    struct {
        double value;
        int place;
    } pair = {1.0 + rank, rank}, least;
    MPI_Allreduce(&pair, &least, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    say("maxloc", least.place);
}

static void windows_and_files(const char* path) {
    int memory = -1;
    MPI_Win window;
    MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(library, &length);
    if (strstr(library, "MPICH Version:\t4.0.2")) {  // Debian's puts elsewhere, for its own programs too
        memory = (rank + size - 1) % size;
    } else {
        MPI_Barrier(MPI_COMM_WORLD);  // a fence that ends nothing need not wait for others
        MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
        MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    }
    int *flavor, flag;
    MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
    say("window", (memory == (rank + size - 1) % size) * 10 + (*flavor == MPI_WIN_FLAVOR_CREATE));
    MPI_Win_free(&window);

    MPI_File file;
    int mode, code = MPI_File_open(MPI_COMM_WORLD, "nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
              class;
    MPI_Error_class(code, &class);
    say("no such file", class == MPI_ERR_NO_SUCH_FILE);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    MPI_File_get_amode(file, &mode);
    MPI_File_write_at(file, rank * (MPI_Offset)sizeof rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    int read = -1;
    MPI_File_seek(file, rank * (MPI_Offset)sizeof rank, MPI_SEEK_SET);
    MPI_Status status, nothing;
    memset(&status, 0xff, sizeof status);
    memset(&nothing, 0xff, sizeof nothing);
    MPI_File_read(file, &read, 1, MPI_INT, &status);
    MPI_File_read(file, &read, 0, MPI_INT, &nothing);
    int count, none;
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_Get_count(&nothing, MPI_INT, &none);
    say("read", 10 * count + none);
    say("file", (read == rank) * 10 + (mode == (MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE)));
    MPI_File_close(&file);
    say("closed", file == MPI_FILE_NULL);
}

static void many(void) {
    MPI_Datatype type, first = MPI_DATATYPE_NULL;
    for (int at = 0; at < 100000; ++at) {
        MPI_Type_contiguous(2, MPI_INT, &type);
        if (at == 0)
            first = type;
        MPI_Type_free(&type);
    }
    (void)first;
    say("types come and go", type == MPI_DATATYPE_NULL);
}

/* Some libraries notice by the addresses of the arrays that data are sent from where they are received. */
static void give_the_same_twice(void) {
    int* numbers = calloc(3 * (size_t)size, sizeof *numbers);
    MPI_Datatype* types = malloc((size_t)size * sizeof *types);
    for (int at = 0; at < size; ++at)
        types[at] = MPI_INT;
    int *counts = numbers + size, *displacements = numbers + 2 * size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Alltoallw(numbers, counts, displacements, types, numbers, counts, displacements, types,
                             MPI_COMM_WORLD);
    say("noticed", code != MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    free(types);
    free(numbers);
}

/* Where the sizes of an array are counts, the constants among its integers have other places. */
static void large_arrays(void) {
    long right = 11;  // before MPI 4 there are none
#if MPI_VERSION >= 4
    MPI_Count sizes[2] = {4, 6}, parts[2] = {2, 3}, starts[2] = {1, 2}, counts[6], ni, na, nc, nd;
    int combiner, integers[12], how[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE}, grid[2] = {size, 1},
                                of[2] = {1, MPI_DISTRIBUTE_DFLT_DARG};
    MPI_Datatype array, inner;
    MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &array);
    MPI_Type_get_envelope_c(array, &ni, &na, &nc, &nd, &combiner);
    MPI_Type_get_contents_c(array, ni, na, nc, nd, integers, NULL, counts, &inner);
    right = 10 * (combiner == MPI_COMBINER_SUBARRAY && integers[ni - 1] == MPI_ORDER_FORTRAN);
    MPI_Type_free(&array);
    MPI_Type_create_darray_c(size, rank, 2, sizes, how, of, grid, MPI_ORDER_C, MPI_INT, &array);
    MPI_Type_get_envelope_c(array, &ni, &na, &nc, &nd, &combiner);
    MPI_Type_get_contents_c(array, ni, na, nc, nd, integers, NULL, counts, &inner);
    const int first = nc ? 3 : 5;
    right += integers[first] == MPI_DISTRIBUTE_CYCLIC && integers[first + 1] == MPI_DISTRIBUTE_NONE &&
             integers[first + 3] == MPI_DISTRIBUTE_DFLT_DARG && integers[ni - 1] == MPI_ORDER_C;
    MPI_Type_free(&array);
#endif
    say("large arrays", right);
}

static void be_a_child(void) {
    MPI_Comm parents;
    int two = 2, sum;
    MPI_Comm_get_parent(&parents);
    MPI_Allreduce(&two, &sum, 1, MPI_INT, MPI_SUM, parents);
    MPI_Comm_disconnect(&parents);
}

/* A child; with another name than `spawn`, found by the key `path` of an info. */
static void spawn(char* program, const char* name) {
    char *words[] = {"child", NULL}, directory[4096], *command = program;
    int code = -1, sum = 0, one = 1;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Comm children;
    if (strcmp(name, "spawn") != 0) {
        command = strrchr(program, '/') + 1;
        snprintf(directory, sizeof directory, "%.*s", (int)(command - 1 - program), program);
        MPI_Info_create(&info);
        MPI_Info_set(info, "path", directory);
    }
    MPI_Comm_spawn(command, words, 1, info, 0, MPI_COMM_WORLD, &children, rank ? MPI_ERRCODES_IGNORE : &code);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, children);
    say(name, 10 * sum + (rank ? 0 : code));
    MPI_Comm_disconnect(&children);
}

/* A port, which is longer than MPICH's own programs have room for where a node has many devices. */
static void open_a_port(void) {
    char port[MPI_MAX_PORT_NAME], found[MPI_MAX_PORT_NAME] = "";
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    const int code = MPI_Open_port(MPI_INFO_NULL, port);
    if (code == MPI_SUCCESS) {
        char name[] = "mpiric-0";
        name[7] = (char)('0' + rank);
        MPI_Publish_name(name, MPI_INFO_NULL, port);
        MPI_Lookup_name(name, MPI_INFO_NULL, found);
        MPI_Unpublish_name(name, MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
    say("port", code == MPI_SUCCESS && strcmp(port, found) == 0);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        be_a_child();
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char version[MPI_MAX_LIBRARY_VERSION_STRING], name[MPI_MAX_PROCESSOR_NAME];
    int length, longest;
    MPI_Get_library_version(version, &length);
    MPI_Get_processor_name(name, &longest);
    say("version fits", length < MPI_MAX_LIBRARY_VERSION_STRING && longest < MPI_MAX_PROCESSOR_NAME);
    collectives();
    messages();
    communicators();
    types();
    large_arrays();
    windows_and_files(argv[1]);
    many();
    if (argc > 2 && strcmp(argv[2], "there and back") == 0) {
        int major, minor;
        give_the_same_twice();
        MPI_Get_version(&major, &minor);
        say("version of the header", major == MPI_VERSION && minor == MPI_SUBVERSION);
    } else if (argc > 2 && strcmp(argv[2], "port") == 0)
        open_a_port();
    else if (argc > 2)
        spawn(argv[0], argv[2]);
    MPI_Finalize();
    return 0;
}
