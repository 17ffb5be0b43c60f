/* Ranks that write a file each under names that are seldom: with a newline, in a directory that is a link, by
 * a link that leads to no file yet; and one through MPI. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char block[5000];

static void make(const char* pattern, int rank) {
    char name[64];
    snprintf(name, sizeof name, pattern, rank);
    const int file = open(name, O_CREAT | O_WRONLY, 0644);
    if (file < 0 || write(file, block, sizeof block) != (ssize_t)sizeof block || close(file) != 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
}

int main(int argc, char** argv) {
    int rank;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memset(block, 'a' + rank, sizeof block);
    make("new\nline.%d.bin", rank);
    make("linked/own.%d.bin", rank);
    make("link.%d.bin", rank);
    if (MPI_File_open(MPI_COMM_WORLD, "new\nline.mpi", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                      &file))
        MPI_Abort(MPI_COMM_WORLD, 4);
    MPI_File_write_at_all(file, (MPI_Offset)rank * (int)sizeof block, block, sizeof block, MPI_BYTE,
                          MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    if (rank == 0)
        puts("written");
    MPI_Finalize();
}
