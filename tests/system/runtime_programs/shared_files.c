/* Writes one file strided, one by ranges of ranks through the file's pointer, one through a view with gaps,
   one through the shared pointer. */
#include <mpi.h>
#include <string.h>

enum { elements = 1024, rounds = 4 };

int main(int argc, char** argv) {
    int rank, size;
    double data[elements];
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    memset(data, rank, sizeof data);

    const int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY;
    MPI_File_open(MPI_COMM_WORLD, "strided", mode, MPI_INFO_NULL, &file);
    for (int round = 0; round < rounds; ++round)
        MPI_File_write_at_all(file, (MPI_Offset)sizeof data * (round * size + rank), data, elements,
                              MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);

    MPI_File_open(MPI_COMM_WORLD, "segmented", mode, MPI_INFO_NULL, &file);
    MPI_File_seek(file, (MPI_Offset)sizeof data * rounds * rank, MPI_SEEK_SET);
    for (int round = 0; round < rounds; ++round)
        MPI_File_write(file, data, elements, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);

    MPI_Datatype every_other;
    MPI_Type_vector(elements / 16, 16, 16 * size, MPI_DOUBLE, &every_other);
    MPI_Type_commit(&every_other);
    MPI_File_open(MPI_COMM_WORLD, "gaps", mode, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, (MPI_Offset)(16 * sizeof(double)) * rank, MPI_DOUBLE, every_other, "native",
                      MPI_INFO_NULL);
    MPI_File_write_all(file, data, elements, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Type_free(&every_other);

    MPI_File_open(MPI_COMM_WORLD, "shared", mode, MPI_INFO_NULL, &file);
    MPI_File_write_ordered(file, data, elements, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
