/* Writes to a file in small pieces.
 *
 * writes count FILE TOLD: for ever, 100 bytes at a time; for each a byte to TOLD, by a system call that goes
 * nowhere else. TOLD with the suffix .pid has the number of the process. writes written|printed FILE FAULTS
 * TEXT: some pieces, then brings the fault TEXT about, then some more; prints the first error that it is told
 * of, at the close at the latest.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char piece[100];

static void write_for_ever(const char* path, const char* progress) {
    char name[4096];
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    snprintf(name, sizeof name, "%s.pid", progress);
    FILE* own = fopen(name, "w");
    fprintf(own, "%d", (int)getpid());
    fclose(own);
    const int progress_file = open(progress, O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (;;)
        if (write(file, piece, sizeof piece) != sizeof piece ||
            pwrite(progress_file, "t", 1, lseek(progress_file, 0, SEEK_END)) != 1)
            return;
}

static int first_error(int failed) { return failed ? errno : 0; }

static int write_into_fault(const char* path, const char* faults, const char* text) {
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int error = 0;
    for (int count = 0; count < 20 && !error; ++count)
        error = first_error(write(file, piece, sizeof piece) < 0);
    FILE* bring = fopen(faults, "w");
    fputs(text, bring);
    fclose(bring);
    for (int count = 0; count < 20 && !error; ++count)
        error = first_error(write(file, piece, sizeof piece) < 0);
    const int at_close = first_error(close(file) != 0);
    return error ? error : at_close;
}

static int print_into_fault(const char* path, const char* faults, const char* text) {
    FILE* file = fopen(path, "w");
    FILE* bring = fopen(faults, "w");
    fputs(text, bring);
    fclose(bring);
    int error = 0;
    for (int count = 0; count < 2000 && !error; ++count)
        error = first_error(fwrite(piece, 1, sizeof piece, file) != sizeof piece);
    const int at_close = first_error(fclose(file) != 0);
    return error ? error : at_close;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    if (argc < 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    memset(piece, 'x', sizeof piece);
    piece[sizeof piece - 1] = '\n';
    if (strcmp(argv[1], "count") == 0)
        write_for_ever(argv[2], argv[3]);
    else if (argc == 5)
        printf("failed %d\n", strcmp(argv[1], "written") == 0 ? write_into_fault(argv[2], argv[3], argv[4])
                                                              : print_into_fault(argv[2], argv[3], argv[4]));
    MPI_Finalize();
    return 0;
}
