/* Calls on files that can be counted on paper; the directory is the first argument.
 *
 * Rank 0 makes "strided", after which all ranks write to it in turns and lock it; each rank writes a half of
 * "segmented" of its own; all ask about "segmented".
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { block = 8192, rounds = 10 };
static char data[block];

int main(int argc, char** argv) {
    int rank, ranks, file;
    struct stat facts;
    struct statx more;
    struct iovec part = {data, block};
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    MPI_Init(&argc, &argv);
    if (argc < 2 || chdir(argv[1]) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 1)
        close(open("strided", O_CREAT | O_EXCL | O_WRONLY, 0600));
    MPI_Barrier(MPI_COMM_WORLD);
    file = open("strided", O_RDWR);
    for (int round = 0; round < rounds; ++round)
        pwritev(file, &part, 1, ((off_t)round * ranks + rank) * block);
    flock(file, LOCK_EX);
    flock(file, LOCK_UN);
    fcntl(file, F_SETLKW, &whole);
    fcntl(file, F_GETFL);
    fstat(file, &facts);
    close(file);
    file = open("segmented", O_RDWR | O_CREAT, 0600);
    for (int round = 0; round < rounds; ++round)
        pwrite(file, data, block, ((off_t)rank * rounds + round) * block);
    close(file);
    MPI_Barrier(MPI_COMM_WORLD);
    closedir(opendir("."));
    statx(AT_FDCWD, "segmented", 0, STATX_SIZE, &more);
    for (int line = 0; line < 5; ++line) {
        printf("line %d\n", line);
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
