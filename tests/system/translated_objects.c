/* Windows, files, tools, sessions and partitioned messages, the same under every library.
 * Arguments: a path for a file, then words for what not every library has: "put" (a put that comes in),
 * "sessions", "partitioned". */
#include "translated_say.h"
#include <string.h>

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_MPI_4 1
#else
#define HAS_MPI_4 0
#endif

static void windows(void) {
    int *memory, *theirs, unit, value = rank + 1, before = -1, none = 0, flag;
    void* base;
    MPI_Aint bytes;
    MPI_Win window;
    MPI_Request request;
    MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_get_attr(window, MPI_WIN_BASE, &base, &flag);
    say("base", base == memory);
    *memory = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_unlock(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, window);
    MPI_Fetch_and_op(&none, &before, MPI_INT, 0, 0, MPI_NO_OP, window);
    MPI_Win_flush(0, window);
    MPI_Rget(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock(0, window);
    MPI_Win_shared_query(window, MPI_PROC_NULL, &bytes, &unit, &theirs);
    say("window", before * 1000 + value * 100 + (bytes == sizeof(int)) * 10 + (*theirs == 3));
    MPI_Win_free(&window);
}

static void files(const char* path) {
    MPI_File file;
    MPI_Offset at = -1;
    MPI_Status status;
    MPI_Request request;
    int value = rank + 1, both[2] = {0, 0}, count;
    char view[MPI_MAX_DATAREP_STRING];
    MPI_Datatype element, map;
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    MPI_File_set_view(file, rank * (MPI_Offset)sizeof(int), MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_iwrite_at(file, 0, &value, 1, MPI_INT, &request);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_File_get_view(file, &at, &element, &map, view);
    say("written", count * 100 + (at == rank * (MPI_Offset)sizeof(int)) * 10 + (strcmp(view, "native") == 0));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_seek(file, -2, MPI_SEEK_END);
    MPI_File_get_position(file, &at);
    MPI_File_read_all(file, both, 2, MPI_INT, &status);
    say("read", at * 100 + both[0] * 10 + both[1]);
    MPI_File_close(&file);
}

/* The tools interface, with results that nobody wants. */
static void tools(void) {
    int provided, number, length = 0, verbosity, bind, scope, binds = 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_cvar_get_num(&number);
    for (int at = 0; at < number; ++at) {
        length = 0;
        if (MPI_T_cvar_get_info(at, NULL, &length, &verbosity, NULL, NULL, NULL, NULL, &bind, &scope) ==
            MPI_SUCCESS)
            binds += bind >= MPI_T_BIND_NO_OBJECT && verbosity >= MPI_T_VERBOSITY_USER_BASIC && length > 0;
    }
    say("variables", number > 0 && binds > number / 2);
    MPI_T_finalize();
}

static void sessions(void) {
#if HAS_MPI_4
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int number = 0, ranks = 0, sum = 0, one = 1;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &number);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Group_size(group, &ranks);
    MPI_Comm_create_from_group(group, "tag", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    say("session", (number >= 2) * 1000 + ranks * 100 + sum * 10 + (session == MPI_SESSION_NULL));
#endif
}

static void partitioned(void) {
#if HAS_MPI_4
    MPI_Request request;
    int data[4] = {0, 0, 0, 0}, flag = 0;
    if (rank == 0)
        MPI_Psend_init(data, 2, 2, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(data, 2, 2, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    for (int part = 0; rank == 0 && part < 2; ++part) {
        data[2 * part] = data[2 * part + 1] = part + 1;
        MPI_Pready(part, request);
    }
    while (rank == 1 && !flag)
        MPI_Parrived(request, 1, &flag);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    MPI_Bcast(data, 4, MPI_INT, 1, MPI_COMM_WORLD);
    say("partitions", data[0] * 1000 + data[1] * 100 + data[2] * 10 + data[3]);
#endif
}

static int is_wanted(int argc, char** argv, const char* word) {
    for (int at = 2; at < argc; ++at)
        if (strcmp(argv[at], word) == 0)
            return 1;
    return 0;
}

int main(int argc, char** argv) {
    int after = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (is_wanted(argc, argv, "put"))
        windows();
    files(argv[1]);
    tools();
    if (is_wanted(argc, argv, "sessions"))
        sessions();
    if (is_wanted(argc, argv, "partitioned"))
        partitioned();
    MPI_Finalize();
    MPI_Finalized(&after);
    say("after", after);
    return 0;
}
