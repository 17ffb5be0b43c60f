// The forms with MPI_Count, as far as an int holds the counts, and with an argument one message that is
// longer.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void add_all(void* from, void* into, MPI_Count* count, MPI_Datatype* type) {
    for (MPI_Count at = 0; at < *count; ++at)
        ((int*)into)[at] += ((int*)from)[at] + (*type == MPI_INT ? 0 : 1000);
}

static void say(const char* what, long value) {
    if (rank == 0)
        printf("%s %ld\n", what, value);
}

/* A type with counts that no int holds: its size, extent and lower bound in units of 10^9 bytes. */
static void say_bounds(const char* what, MPI_Datatype type) {
    MPI_Count low, extent, size;
    MPI_Type_get_extent_c(type, &low, &extent);
    MPI_Type_size_c(type, &size);
    say(what, (long)((size * 10000 + extent * 100 + low) / 1000000000));
    MPI_Type_free(&type);
}

static void large_types(void) {
    const MPI_Count far = 3000000000, lengths[2] = {far, 1}, places[2] = {1000000000, 5000000000};
    const MPI_Count sizes[2] = {2, 2 * far}, parts[2] = {2, far}, starts[2] = {0, 1000000000};
    const MPI_Datatype parts_of_struct[2] = {MPI_CHAR, MPI_BYTE};
    MPI_Datatype type;
    MPI_Type_contiguous_c(far, MPI_CHAR, &type);
    say_bounds("contiguous", type);
    MPI_Type_vector_c(2, far, far + 1000000000, MPI_CHAR, &type);
    say_bounds("two blocks", type);
    MPI_Type_create_hvector_c(far, 1, 2, MPI_CHAR, &type);
    say_bounds("many blocks", type);
    MPI_Type_indexed_c(2, lengths, places, MPI_CHAR, &type);
    say_bounds("indexed", type);
    MPI_Type_create_hindexed_c(2, lengths, places, MPI_CHAR, &type);
    say_bounds("by bytes", type);
    MPI_Type_create_indexed_block_c(2, far, places, MPI_CHAR, &type);
    say_bounds("equal blocks", type);
    MPI_Type_create_struct_c(2, lengths, places, parts_of_struct, &type);
    say_bounds("struct", type);
    MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_C, MPI_CHAR, &type);
    say_bounds("subarray", type);
}

static void long_reduction(MPI_Count count) {
    char *from = malloc((size_t)count), *into = malloc((size_t)count);
    memset(from, 3, (size_t)count);
    memset(into, 4, (size_t)count);
    from[count - 1] = 5;
    MPI_Reduce_local_c(from, into, count, MPI_CHAR, MPI_SUM);
    say("long reduction", into[0] * 100 + into[1073741824] * 10 + into[count - 1]);
    free(from);
    free(into);
}

static void long_message(MPI_Count count) {
    char* data = calloc((size_t)count, 1);
    MPI_Status status;
    MPI_Count received = -1;
    if (rank == 1) {
        data[0] = 3, data[1073741824] = 5, data[count - 1] = 7;
        MPI_Send_c(data, count, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    }
    if (rank == 0) {
        MPI_Recv_c(data, count, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &status);
        MPI_Get_count_c(&status, MPI_CHAR, &received);
        say("long message",
            (received == count) * 1000 + data[0] * 100 + data[1073741824] * 10 + data[count - 1]);
    }
    free(data);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int sent[2] = {rank + 1, 10}, sum[2] = {0, 0}, all[4] = {0}, got[4] = {0};
    MPI_Op op;
    MPI_Op_create_c(add_all, 1, &op);
    MPI_Allreduce_c(sent, sum, 2, MPI_INT, op, MPI_COMM_WORLD);
    say("operation", sum[0] + sum[1]);
    MPI_Op_free(&op);

    MPI_Count counts[2] = {1, 2}, bytes;
    MPI_Aint displacements[2] = {2, 0}, low, extent;
    MPI_Gatherv_c(sent, rank + 1, MPI_INT, rank ? NULL : all, rank ? NULL : counts,
                  rank ? NULL : displacements, MPI_INT, 0, MPI_COMM_WORLD);
    say("gathered", all[0] * 100 + all[1] * 10 + all[2]);

    MPI_Request requests[2];
    MPI_Count each[2] = {1, 1};
    MPI_Aint places[2] = {1, 0};
    MPI_Ialltoallv_c(sent, each, places, MPI_INT, got, each, places, MPI_INT, MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    say("exchanged", got[0] * 100 + got[1]);
    MPI_Allgather_c(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, 1, MPI_INT, MPI_COMM_WORLD);

    MPI_Status status;
    MPI_Count count = -1, wide_low, wide_extent;
    MPI_Irecv_c(got, 4, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend_c(sent, 2, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD, &requests[1]);
    MPI_Wait(&requests[0], &status);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Get_count_c(&status, MPI_INT, &count);
    say("received", count * 100 + got[0] * 10 + status.MPI_TAG);

    MPI_Datatype type;
    MPI_Type_vector_c(3, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_size_c(type, &bytes);
    MPI_Type_get_extent_c(type, &wide_low, &wide_extent);
    MPI_Type_get_extent(type, &low, &extent);
    say("vector", bytes * 100 + wide_extent + (wide_extent != extent));
    char packed[64];
    MPI_Count position = 0, room;
    MPI_Pack_size_c(2, MPI_INT, MPI_COMM_WORLD, &room);
    MPI_Pack_c(sent, 2, MPI_INT, packed, sizeof packed, &position, MPI_COMM_WORLD);
    say("packed", position + 100 * (room >= position));
    MPI_Type_free(&type);

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int code = MPI_Send_c(sent, -1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    int class = 0;
    MPI_Error_class(code, &class);
    say("negative", class == MPI_ERR_COUNT);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    large_types();
    MPI_Type_contiguous_c(3, MPI_INT, &type);
    MPI_Count integers, addresses, large, datatypes;
    int combiner, contents[1] = {0};
    MPI_Datatype inner;
    MPI_Type_get_envelope_c(type, &integers, &addresses, &large, &datatypes, &combiner);
    const MPI_Count wide = large;
    MPI_Type_get_contents_c(type, integers, addresses, large, datatypes, contents, NULL, &large, &inner);
    say("contents",
        (combiner == MPI_COMBINER_CONTIGUOUS) * 100 + (wide ? large : contents[0]) * 10 + (inner == MPI_INT));
    MPI_Type_free(&type);
    if (argc > 1) {
        long_message(2147483648 + 5);
        if (rank == 0)
            long_reduction(2147483648 + 5);
    }
    MPI_Finalize();
    return 0;
}
