/* Files that ranks read.
 *
 * inputs reads FILE: each rank, by open and by fopen; what it has read, and whether that was a copy on its
 * node's disk. inputs changed FILE: rank 0 writes something else to it first. inputs both FILE: opened to
 * read and write: read, then written, and what is said of the descriptor.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { most = 1 << 20 };
static char text[most];
static int rank;

static void must(int holds, const char* what) {
    if (holds)
        return;
    perror(what);
    MPI_Abort(MPI_COMM_WORLD, 9);
}

static unsigned long sum_of(long bytes) {
    unsigned long sum = 5381;
    for (long at = 0; at < bytes; ++at)
        sum = sum * 33 + (unsigned char)text[at];
    return sum;
}

static int is_copy(int file) {
    char name[64], target[4096] = "";
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    return readlink(name, target, sizeof target - 1) > 0 && strstr(target, "mpiric-local") != NULL;
}

static int really_writes(int file) {
    char name[64];
    unsigned flags = 0;
    snprintf(name, sizeof name, "/proc/self/fdinfo/%d", file);
    FILE* facts = fopen(name, "r");
    must(facts && fscanf(facts, "pos: %*d flags: %o", &flags) == 1, name);
    fclose(facts);
    return (flags & O_ACCMODE) == O_RDWR;
}

static void read_it(const char* path) {
    struct stat facts, own;
    const int file = open(path, O_RDONLY);
    must(file >= 0 && fstat(file, &facts) == 0 && stat(path, &own) == 0, path);
    const long got = read(file, text, most);
    const unsigned long sum = sum_of(got);
    FILE* stream = fopen(path, "r");
    must(stream != NULL, path);
    const long again = (long)fread(text, 1, most, stream);
    const int same = again == got && sum_of(again) == sum && facts.st_size == own.st_size &&
                     facts.st_mtime == own.st_mtime && (facts.st_mode & 0777) == (own.st_mode & 0777);
    printf("rank %d %ld %lu same %d copies %d %d\n", rank, got, sum, same, is_copy(file),
           is_copy(fileno(stream)));
    fclose(stream);
    close(file);
}

static void change(const char* path) {
    if (rank == 0) {
        FILE* stream = fopen(path, "a");
        must(stream && fputs("more", stream) > 0 && fclose(stream) == 0, path);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void read_and_write(const char* path) {
    char begin[4] = "";
    const int file = open(path, O_RDWR);
    must(file >= 0, path);
    printf("asked %d writes %d\n", (fcntl(file, F_GETFL) & O_ACCMODE) == O_RDWR, really_writes(file));
    must(read(file, begin, 3) == 3 && write(file, "XYZ", 3) == 3, "write");
    printf("begins %s writes %d at %ld\n", begin, really_writes(file), (long)lseek(file, 0, SEEK_CUR));
    must(close(file) == 0, "close");
    const int shared = open(path, O_RDWR);
    const int child = fork();
    if (child == 0)
        _exit(pwrite(shared, "_", 1, 0) != 1);
    int status = 1;
    must(waitpid(child, &status, 0) == child && status == 0, "child");
    const int copy = dup(shared);
    must(pwrite(copy, "_", 1, 1) == 1 && ftruncate(shared, 8) == 0, "copy");
    close(copy);
    close(shared);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (strcmp(argv[1], "both") == 0) {
        read_and_write(argv[2]);
    } else {
        if (strcmp(argv[1], "changed") == 0)
            change(argv[2]);
        read_it(argv[2]);
    }
    MPI_Finalize();
    return 0;
}
