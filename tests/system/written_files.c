/* Ranks that write: one file through MPI with a hint of the program's own, one that all open at once, one
 * each. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { bytes = 200000 };

int main(int argc, char** argv) {
    static char block[bytes];
    char name[64];
    int rank, ranks;
    MPI_Info own;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    memset(block, 'a' + rank, bytes);
    MPI_Info_create(&own);
    MPI_Info_set(own, "cb_nodes", "1");
    MPI_File_open(MPI_COMM_WORLD, "out/through_mpi", MPI_MODE_CREATE | MPI_MODE_WRONLY, own, &file);
    MPI_File_write_at_all(file, (MPI_Offset)rank * bytes, block, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Info_free(&own);
    for (int turn = 0; turn < 20; ++turn) {
        MPI_Barrier(MPI_COMM_WORLD);
        snprintf(name, sizeof name, "at_once.%d.bin", turn);
        const int together = open(name, O_CREAT | O_WRONLY, 0644);
        if (together < 0 || pwrite(together, block, 1000, 1000 * rank) != 1000 || close(together) != 0)
            MPI_Abort(MPI_COMM_WORLD, 3);
    }
    snprintf(name, sizeof name, "own.%d", rank);
    FILE* stream = fopen(name, "wx");
    if (!stream || fwrite(block, 1, bytes, stream) != bytes || fclose(stream) != 0)
        MPI_Abort(MPI_COMM_WORLD, 4);
    if (rank == 0)
        printf("written by %d\n", ranks);
    MPI_Finalize();
}
