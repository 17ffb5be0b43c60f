/* One line for each class of argument that a translation treats in its own way, the same under every library.
 */
#include "translated_say.h"
#include <stdlib.h>
#include <string.h>

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_MPI_4 1
#else
#define HAS_MPI_4 0
#endif

static int heard, freed, cancelled, deleted;

/* Statuses. */
static void statuses(void) {
    MPI_Status status, both[2];
    int count, flag, in[2] = {0, 0}, out = rank, tags = 0;
    MPI_Count many;
    memset(&status, 0, sizeof status);
    MPI_Status_set_elements_x(&status, MPI_INT, 3000000000);
    MPI_Status_set_cancelled(&status, 1);
    MPI_Get_elements_x(&status, MPI_INT, &many);
    MPI_Test_cancelled(&status, &flag);
    say("large status", many / 1000000 + flag);
    MPI_Get_count(&status, MPI_INT, &count);
    say("count that fits no int", count == MPI_UNDEFINED);
    MPI_Request requests[2];
    MPI_Irecv(&in[0], 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(&out, 1, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD);
    MPI_Send(&out, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD);
    for (int nth = 0; nth < 2; ++nth) {
        int index = -1;
        both[0].MPI_ERROR = 4711;
        MPI_Waitany(2, requests, &index, &both[0]);
        tags += 10 * (both[0].MPI_TAG == index + 1 && both[0].MPI_SOURCE == 1 - rank) +
                (both[0].MPI_ERROR == 4711);
    }
    say("any", tags);
    MPI_Message message;
    MPI_Send(&out, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD);
    MPI_Mprobe(1 - rank, 3, MPI_COMM_WORLD, &message, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_Mrecv(in, count, MPI_INT, &message, MPI_STATUS_IGNORE);
    say("message", 10 * (message == MPI_MESSAGE_NULL) + (in[0] == 1 - rank));
    MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message, &status);
    say("message of nobody", message == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

/* Arrays that are read after the call, and those that are not read in place. */
static void exchange(MPI_Request* request, int is_persistent, int* got, long* right) {
    for (int round = 0; round < (is_persistent ? 2 : 1); ++round) {
        if (is_persistent) {
            got[0] = got[1] = -1;
            MPI_Start(request);
        }
        MPI_Wait(request, MPI_STATUS_IGNORE);
        for (int from = 0; from < 2; ++from)
            *right += got[from] == 10 * from + rank;
    }
    if (is_persistent)
        MPI_Request_free(request);
    *right += 100 * (*request == MPI_REQUEST_NULL);
}

static void arrays(void) {
    int counts[2] = {1, 1}, places[2] = {0, (int)sizeof(int)}, sent[2] = {10 * rank, 10 * rank + 1}, got[2];
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Request request;
    long right = 0;
    MPI_Ialltoallw(sent, counts, places, types, got, counts, places, types, MPI_COMM_WORLD, &request);
    memset(types, 0xff, sizeof types);
    exchange(&request, 0, got, &right);
    say("ialltoallw", right);
    types[0] = types[1] = MPI_INT;
    got[0] = 10 * rank, got[1] = 10 * rank + 1;
    MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, got, counts, places, types, MPI_COMM_WORLD);
    say("in place", got[0] * 100 + got[1]);
#if HAS_MPI_4
    right = 0;
    MPI_Alltoallw_init(sent, counts, places, types, got, counts, places, types, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &request);
    memset(types, 0xff, sizeof types);
    exchange(&request, 1, got, &right);
    say("alltoallw, persistent", right);
    types[0] = types[1] = MPI_INT;
#endif
    int dims[1] = {2}, periods[1] = {1};
    MPI_Aint far_places[2] = {0, sizeof(int)};
    MPI_Comm ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    MPI_Ineighbor_alltoallw(sent, counts, far_places, types, got, counts, far_places, types, ring, &request);
    memset(types, 0xff, sizeof types);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say("neighbours", (got[0] + got[1] == 20 * (1 - rank) + 1) + 10 * (request == MPI_REQUEST_NULL));
    MPI_Comm_free(&ring);
}

/* Error classes, codes and handlers. */
static void hear(MPI_Comm* comm, int* code, ...) { heard = *comm == MPI_COMM_SELF ? *code : -1; }
static void hear_window(MPI_Win* window, int* code, ...) {
    int class = -1;
    MPI_Error_class(*code, &class);
    heard = *window != MPI_WIN_NULL && class == MPI_ERR_ARG;
}
static void hear_file(MPI_File* file, int* code, ...) {
    int class = -1;
    MPI_Error_class(*code, &class);
    heard = *file == MPI_FILE_NULL && class == MPI_ERR_NO_SUCH_FILE;
}

static void errors(void) {
    int class, code, of_code, length, flag, *last;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "ours");
    MPI_Error_class(code, &of_code);
    MPI_Error_string(code, text, &length);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    say("own code", (of_code == class) * 1000 + (class > MPI_ERR_LASTCODE) * 100 +
                        (strcmp(text, "ours") == 0) * 10 + (flag && *last >= class));
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(hear, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Comm_call_errhandler(MPI_COMM_SELF, code);
    say("heard", heard == code);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD,
                            MPI_ERRORS_RETURN);  // the affected communicator depends on the version
    MPI_Error_class(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRHANDLER_NULL), &class);
    int is_named = class == MPI_ERR_ARG;
#ifdef MPI_ERR_ERRHANDLER
    is_named |= class == MPI_ERR_ERRHANDLER;
#endif
    say("no handler", is_named);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    int memory = 0;
    MPI_Win window;
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_create_errhandler(hear_window, &handler);
    MPI_Win_set_errhandler(window, handler);
    MPI_Win_call_errhandler(window, MPI_ERR_ARG);
    say("heard of a window", heard);
    MPI_Win_free(&window);
    MPI_Errhandler_free(&handler);
    MPI_File file;
    MPI_File_create_errhandler(hear_file, &handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    heard = 0;
    MPI_File_open(MPI_COMM_SELF, "nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    say("heard of a file", heard);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
}

/* Integers that stand for something. */
static void integers(void) {
    MPI_Group world, self;
    int result, ranks[2] = {0, MPI_PROC_NULL}, there[2];
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, (int[1][3]){{0, 0, 1}}, &self);
    MPI_Group_compare(world, self, &result);
    MPI_Group_translate_ranks(self, 2, ranks, world, there);
    say("groups", (result == MPI_UNEQUAL) * 100 + (there[0] == 0) * 10 + (there[1] == MPI_PROC_NULL));
    MPI_Group_free(&self);
    MPI_Group_free(&world);
    int sizes[2] = {4, 6}, how[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE}, grid[2] = {2, 1},
        contents[20], combiner;
    int of[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, integers, addresses, types;
    MPI_Datatype array, inner, real;
    MPI_Type_create_darray(2, rank, 2, sizes, how, of, grid, MPI_ORDER_C, MPI_INT, &array);
    MPI_Type_get_envelope(array, &integers, &addresses, &types, &combiner);
    MPI_Type_get_contents(array, 20, 0, 1, contents, NULL, &inner);
    say("distributed",
        (combiner == MPI_COMBINER_DARRAY) * 10000 + (contents[5] == MPI_DISTRIBUTE_BLOCK) * 1000 +
            (contents[6] == MPI_DISTRIBUTE_NONE) * 100 + (contents[7] == MPI_DISTRIBUTE_DFLT_DARG) * 10 +
            (contents[integers - 1] == MPI_ORDER_C));
    MPI_Type_free(&array);
    MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 4, &inner);
    MPI_Type_size(inner, &result);
    MPI_Type_create_f90_real(6, MPI_UNDEFINED, &real);
    MPI_Type_get_envelope(real, &integers, &addresses, &types, &combiner);
    say("matching size", result * 10 + (combiner == MPI_COMBINER_F90_REAL));
    MPI_Comm shared;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &shared);
    MPI_Comm_compare(MPI_COMM_WORLD, shared, &result);
    say("shared", result == MPI_CONGRUENT);
    MPI_Comm_free(&shared);
    int level;
    MPI_Query_thread(&level);
    say("threads", level >= MPI_THREAD_SINGLE && level <= MPI_THREAD_MULTIPLE);
    say("numbers", (MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD) * 10 +
                       (MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE));
}

/* Sentinels. */
static void sentinels(void) {
    int to[1] = {1 - rank}, from[1], in, out, weighted, weights[1] = {7}, got[2] = {-1, -1}, all[2] = {5, 6};
    MPI_Comm graph;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, to, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    MPI_Dist_graph_neighbors(graph, 1, from, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED);
    say("unweighted", in * 1000 + out * 100 + weighted * 10 + (from[0] == 1 - rank));
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank, from, rank ? weights : MPI_WEIGHTS_EMPTY, 1 - rank,
                                   to, rank ? MPI_WEIGHTS_EMPTY : weights, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    say("empty weights", in * 100 + out * 10 + weighted);
    MPI_Comm_free(&graph);
    MPI_Scatter(all, 1, MPI_INT, rank ? got : MPI_IN_PLACE, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allreduce(rank ? &got[0] : &all[0], &got[1], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    say("scatter in place", got[1]);
    const int bytes = 100 + MPI_BSEND_OVERHEAD;
    char *buffer = malloc((size_t)bytes), text[100] = "buffered";
    MPI_Buffer_attach(buffer, bytes);
    MPI_Bsend(text, 100, MPI_CHAR, rank, 9, MPI_COMM_WORLD);
    memset(text, 0, sizeof text);
    MPI_Recv(text, 100, MPI_CHAR, rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    void* detached = NULL;
    int room = 0;
    MPI_Buffer_detach(&detached, &room);
    say("buffered", (strcmp(text, "buffered") == 0) * 100 + (detached == buffer) * 10 + (room == bytes));
    free(buffer);
    MPI_Aint address;
    MPI_Datatype absolute;
    int length = 1;
    MPI_Get_address(&got[0], &address);
    MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    MPI_Sendrecv(all, 1, MPI_INT, rank, 5, MPI_BOTTOM, 1, absolute, rank, 5, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    say("bottom", got[0]);
    MPI_Type_free(&absolute);
}

/* Functions that the library calls. */
static int query(void* extra, MPI_Status* status) {
    MPI_Status_set_elements(status, MPI_INT, *(int*)extra);
    MPI_Status_set_cancelled(status, cancelled);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = 12;
    return MPI_SUCCESS;
}
static int forget(void* extra) { return freed += *(int*)extra, MPI_SUCCESS; }
static int cancel(void* extra, int is_complete) { return (void)extra, cancelled = !is_complete, MPI_SUCCESS; }
static void subtract(void* in, void* inout, int* count, MPI_Datatype* type) {
    for (int at = 0; at < *count; ++at)
        ((int*)inout)[at] = ((int*)in)[at] - ((int*)inout)[at] + 1000 * (*type != MPI_INT);
}
static int at_the_end(MPI_Comm comm, int keyval, void* value, void* extra) {
    if (rank == 0)
        printf("self %d\n", (comm == MPI_COMM_SELF) * 100 + (value == &size) * 10 +
                                (extra == NULL && keyval != MPI_KEYVAL_INVALID));
    return MPI_SUCCESS;
}
static int count_deletion(MPI_Datatype type, int keyval, void* value, void* extra) {
    return (void)type, (void)keyval, (void)extra, deleted += value == &freed, MPI_SUCCESS;
}

static void callbacks(void) {
    int three = 3, count, flag, sent = rank + 5, result = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Grequest_start(query, forget, cancel, &three, &request);
    MPI_Test(&request, &flag, &status);
    MPI_Cancel(&request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_Test_cancelled(&status, &result);
    say("generalized", freed * 10000 + flag * 1000 + count * 100 + result * 10 + (status.MPI_TAG == 12));
    MPI_Op op;
    MPI_Op_create(subtract, 0, &op);
    MPI_Op_commutative(op, &flag);
    MPI_Allreduce(&sent, &result, 1, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    say("in order", result * 10 + flag);
    int of_type, of_window, at_end, *model, memory;
    void* value = NULL;
    MPI_Datatype pair, copied;
    MPI_Type_create_keyval(MPI_TYPE_DUP_FN, count_deletion, &of_type, NULL);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_set_attr(pair, of_type, &freed);
    MPI_Type_dup(pair, &copied);
    MPI_Type_get_attr(copied, of_type, &value, &flag);
    MPI_Type_free(&copied);
    MPI_Type_free(&pair);
    MPI_Type_free_keyval(&of_type);
    say("of types", (value == &freed) * 100 + flag * 10 + deleted);
    MPI_Win window;
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &of_window, NULL);
    MPI_Win_set_attr(window, of_window, &memory);
    MPI_Win_get_attr(window, of_window, &value, &flag);
    MPI_Win_get_attr(window, MPI_WIN_MODEL, &model, &result);
    say("of windows",
        (value == &memory) * 100 + flag * 10 + (*model == MPI_WIN_UNIFIED || *model == MPI_WIN_SEPARATE));
    MPI_Win_free(&window);
    MPI_Win_free_keyval(&of_window);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &at_end, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, at_end, &size);
    say("own keyval",
        at_end != MPI_TAG_UB && at_end != MPI_IO && at_end != MPI_APPNUM && at_end != MPI_KEYVAL_INVALID);
}

int main(int argc, char** argv) {
    int before = -1, after = -1, version, minor, length;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Initialized(&before);
    MPI_Get_version(&version, &minor);
    MPI_Get_library_version(text, &length);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    say("before", before * 10 + (length > 0 && version >= 3));
    say("version", 10 * version + minor <= 10 * MPI_VERSION + MPI_SUBVERSION);
    statuses();
    arrays();
    errors();
    integers();
    sentinels();
    callbacks();
    MPI_Pcontrol(1);
    MPI_Finalize();
    MPI_Finalized(&after);
    say("after", after);
    return 0;
}
