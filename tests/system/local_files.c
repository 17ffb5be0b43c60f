/* Files that a rank makes, and what else is asked of them.
 *
 * local_files ends HOW: a stream that is not closed and a file that is; then the program ends.
 * local_files fills MIB: files of so many MiB, by each kind of call; their names begin with `full`.
 * local_files meets: rank 0 makes files, and rank 1 asks for them while they are open, and once they are
 * closed. local_files asks WHAT: a file, and something that must find it whole in its own place. local_files
 * sleeps: a closed file and an open one; their maker tells its number and sleeps.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { piece = 1000, pieces = 300, mib = 1 << 20 };
static char text[mib];

static void must(int holds, const char* what) {
    if (holds)
        return;
    perror(what);
    MPI_Abort(MPI_COMM_WORLD, 9);
}

static int write_pieces(const char* name, int close_it) {
    const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0640);
    must(file >= 0, name);
    for (int at = 0; at < pieces; ++at)
        must(write(file, text, piece) == piece, "write");
    must(!close_it || close(file) == 0, "close");
    return file;
}

static FILE* print_pieces(const char* name) {
    FILE* stream = fopen(name, "w");
    must(stream != NULL, name);
    for (int at = 0; at < pieces; ++at)
        must(fwrite(text, 1, piece, stream) == piece, "fwrite");
    return stream;
}

static void end(const char* how) {
    print_pieces("local.stream");
    write_pieces("local.closed", 1);
    write_pieces("local.open", 0);
    fflush(NULL);
    if (strcmp(how, "_exit") == 0)
        _exit(0);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "fault") == 0)
        raise(SIGSEGV);
    if (strcmp(how, "terminated") == 0)
        kill(getpid(), SIGTERM);
    if (strcmp(how, "MPI_Abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (strcmp(how, "exec") == 0)
        execlp("true", "true", NULL);
    if (strcmp(how, "exit") == 0)
        exit(0);
}

static void fill(int size) {
    const int written = open("full.write", O_WRONLY | O_CREAT, 0600);
    const int placed = open("full.pwrite", O_RDWR | O_CREAT, 0600);
    const int joined = open("full.writev", O_WRONLY | O_CREAT, 0600);
    FILE* stream = fopen("full.fwrite", "w");
    const struct iovec parts[] = {{text, mib / 4}, {text + mib / 4, mib / 2}, {text + mib / 4 * 3, mib / 4}};
    for (int at = 0; at < size; ++at) {
        must(write(written, text, mib) == mib, "write");
        must(pwrite(placed, text, mib, (off_t)(size - 1 - at) * mib) == mib, "pwrite");
        must(writev(joined, parts, 3) == mib, "writev");
        must(fwrite(text, 1, mib, stream) == mib, "fwrite");
    }
    must(close(written) == 0 && close(placed) == 0 && close(joined) == 0 && fclose(stream) == 0, "close");
}

static long size_seen(const char* name) {
    struct stat facts;
    const int file = open(name, O_RDONLY);
    must(file >= 0 && fstat(file, &facts) == 0 && close(file) == 0, name);
    return (long)facts.st_size;
}

static void meet(int rank) {
    int file = -1;
    if (rank == 0) {
        file = write_pieces("local.open", 0);
        write_pieces("local.closed", 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        printf("open %ld closed %ld\n", size_seen("local.open"), size_seen("local.closed"));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        must(write(file, text, piece) == piece && close(file) == 0, "more");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        must(rename("local.closed", "moved") == 0, "rename");
        printf("then %ld moved %ld\n", size_seen("local.open"), size_seen("moved"));
    }
}

static void ask(const char* what) {
    char name[64];
    snprintf(name, sizeof name, "local.%s", what);
    const int file = write_pieces(name, 0);
    if (strcmp(what, "fsync") == 0) {
        must(fsync(file) == 0, what);
    } else if (strcmp(what, "rename") == 0) {
        must(rename(name, "renamed") == 0 && write(file, text, piece) == piece, what);
    } else if (strcmp(what, "unlink") == 0) {
        must(unlink(name) == 0 && write(file, text, piece) == piece, what);
    } else if (strcmp(what, "dup") == 0) {
        const int copy = dup(file);
        must(write(copy, text, piece) == piece && lseek(file, 0, SEEK_CUR) == (pieces + 1) * piece, what);
    } else if (strcmp(what, "append") == 0) {
        must(close(file) == 0, what);
        FILE* again = fopen(name, "a");
        must(again && fwrite(text, 1, piece, again) == piece && fclose(again) == 0, what);
    } else if (strcmp(what, "child") == 0) {
        if (fork() == 0)
            _exit(write(file, text, piece) != piece);
        int status = 1;
        must(wait(&status) > 0 && status == 0, what);
    } else if (strcmp(what, "system") == 0) {
        must(system("test -f local.system -a ! -L local.system") == 0, what);
    }
    struct stat facts;
    if (lstat(name, &facts) == 0)
        printf("%s link %d mode %o size %ld\n", name, S_ISLNK(facts.st_mode), facts.st_mode & 07777,
               (long)facts.st_size);
}

int main(int argc, char** argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int at = 0; at < mib; ++at)
        text[at] = (char)('a' + at % 23);
    if (argc == 3 && strcmp(argv[1], "ends") == 0)
        end(argv[2]);
    else if (argc == 3 && strcmp(argv[1], "fills") == 0)
        fill(atoi(argv[2]));
    else if (argc == 3 && strcmp(argv[1], "asks") == 0)
        ask(argv[2]);
    else if (strcmp(argv[1], "meets") == 0)
        meet(rank);
    else if (strcmp(argv[1], "sleeps") == 0) {
        write_pieces("local.closed", 1);
        write_pieces("local.open", 0);
        printf("%d\n", (int)getpid());
        fflush(stdout);
        pause();
    }
    MPI_Finalize();
    return 0;
}
