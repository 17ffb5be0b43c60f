// Checks the world's order, given as the slot of each rank, in whatever knows ranks or handles; prints what
// is wrong.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, wrong = 0, copied = 0, deleted = 0, handled = 0;

#define CHECK(fact)                                                                                          \
    do {                                                                                                     \
        if (!(fact)) {                                                                                       \
            wrong = 1;                                                                                       \
            printf("rank %d: wrong: %s\n", rank, #fact);                                                     \
        }                                                                                                    \
    } while (0)

static int slot(void) {
    const char* names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"};
    for (int at = 0; at < 3; ++at)
        if (getenv(names[at]))
            return atoi(getenv(names[at]));
    return -1;
}

static int copy(MPI_Comm from, int key, void* extra, void* value, void* result, int* flag) {
    copied += from == MPI_COMM_WORLD && extra == &copied;
    *(void**)result = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static int drop(MPI_Comm from, int key, void* value, void* extra) {
    if (from == MPI_COMM_WORLD && ++deleted == 1 && rank == 0) {
        printf("deleted from MPI_COMM_WORLD\n");
        fflush(stdout);
    }
    return MPI_SUCCESS;
}

static int drop_of_self(MPI_Comm from, int key, void* value, void* extra) {
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
    int now = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &now);
    CHECK(now == rank);
    return MPI_SUCCESS;
}

static void handle(MPI_Comm* comm, int* code, ...) {
    handled += *comm == MPI_COMM_WORLD && *code != MPI_SUCCESS;
}

static void check_messages(void) {
    int left = (rank + size - 1) % size, right = (rank + 1) % size, got = -1, all[64];
    MPI_Status status;
    MPI_Sendrecv(&rank, 1, MPI_INT, right, 7, &got, 1, MPI_INT, left, 7, MPI_COMM_WORLD, &status);
    CHECK(got == left && status.MPI_SOURCE == left);
    MPI_Request requests[2];
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&rank, 1, MPI_INT, left, 8, MPI_COMM_WORLD, &requests[1]);
    MPI_Status statuses[2];
    MPI_Waitall(2, requests, statuses);
    CHECK(got == right && statuses[0].MPI_SOURCE == right);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (int at = 0; at < size; ++at)
        CHECK(all[at] == at);
    int root = rank;
    MPI_Bcast(&root, 1, MPI_INT, 1, MPI_COMM_WORLD);
    CHECK(root == 1);
}

static void check_groups(void) {
    MPI_Comm twin, half, grid, inter, whole;
    MPI_Group world, other;
    int result, now, dims[1] = {size}, periods[1] = {1}, left, right;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(twin, &other);
    MPI_Group_compare(world, other, &result);
    CHECK(result == MPI_IDENT);
    MPI_Group_rank(world, &now);
    CHECK(now == rank);
    MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result);
    CHECK(result == MPI_IDENT);
    MPI_Comm_compare(twin, MPI_COMM_WORLD, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Comm_rank(half, &now);
    CHECK(now == rank / 2);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &inter);
    MPI_Intercomm_merge(inter, rank % 2, &whole);
    MPI_Comm_rank(whole, &now);
    CHECK(now == rank / 2 + (rank % 2 ? (size + 1) / 2 : 0));
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &grid);
    MPI_Cart_shift(grid, 0, 1, &left, &right);
    CHECK(right == (rank + 1) % size);
    MPI_Comm_rank(grid, &now);
    CHECK(now == rank);
    MPI_Comm* made[] = {&twin, &half, &grid, &inter, &whole};
    for (int at = 0; at < 5; ++at)
        MPI_Comm_free(made[at]);
    MPI_Group_free(&world);
    MPI_Group_free(&other);
}

static void check_windows_and_files(const char* path) {
    int memory = -1, got = -1;
    MPI_Win window;
    MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    CHECK(memory == (rank + size - 1) % size);
    MPI_Win_free(&window);
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_ordered(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(file, (MPI_Offset)sizeof rank * rank, &got, 1, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(got == rank);
    MPI_File_close(&file);
}

static void check_attributes(void) {
    int key, key_of_self, flag = 0, *most = NULL, *found = NULL;
    MPI_Comm twin;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &flag);
    CHECK(flag && *most >= 32767);
    MPI_Comm_create_keyval(copy, drop, &key, &copied);
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &found, &flag);
    CHECK(!flag);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    CHECK(copied == 1);
    MPI_Comm_get_attr(twin, key, &found, &flag);
    CHECK(flag && found == &size);
    MPI_Comm_free(&twin);
    CHECK(deleted == 0);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop_of_self, &key_of_self, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key_of_self, NULL);
}

static void check_handles(void) {
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0);
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    MPI_Errhandler handler, found;
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found);
    CHECK(found == handler);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    CHECK(handled == 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    MPI_Errhandler_free(&found);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc > 2 && slot() == argv[1][rank] - '0');
    check_messages();
    check_groups();
    check_windows_and_files(argv[2]);
    check_attributes();
    check_handles();
    int any = 0;
    MPI_Reduce(&wrong, &any, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s\n", any ? "wrong" : "all right");
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
