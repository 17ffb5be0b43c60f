/* Random calls on files, the same for the same seed: what they return goes into a log.
 *
 * random_file_calls SEED STEPS LOG: works in the current directory, each rank in one of its own.
 * Writes by libc and by stdio, whatever else is asked of the files in between by this rank, its children and,
 * after a barrier, the next rank.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { names = 5, open_files = 6, streams = 4, largest = 40000 };
static uint64_t state;
static char data[largest], text[4096], *log_text;
static size_t log_used, log_size;
static int rank, ranks;

static uint32_t below(uint32_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % bound;
}

static void note(const char* format, ...) {
    va_list arguments;
    if (log_size - log_used < 4096 && !(log_text = realloc(log_text, log_size += 1 << 20)))
        abort();
    va_start(arguments, format);
    log_used += (size_t)vsnprintf(log_text + log_used, 4096, format, arguments);
    va_end(arguments);
}

static void returned(const char* call, long result) {
    note("%s %ld %d\n", call, result, result < 0 ? errno : 0);
}

static const char* name(void) {
    static char names_of[2][8];
    static int turn;
    turn = !turn;
    snprintf(names_of[turn], sizeof names_of[turn], "f%u", below(names));
    return names_of[turn];
}

static size_t some_bytes(void) {
    static const size_t at_most[] = {8, 100, 100, 1000, 1000, 9000, largest};
    size_t bytes = below((uint32_t)at_most[below(7)]);
    for (size_t at = 0; at < bytes; ++at)
        data[at] = (char)('a' + (state + at * 7) % 26);
    return bytes;
}

static unsigned long sum_of(const char* from, long bytes) {
    unsigned long sum = 5381;
    for (long at = 0; at < bytes; ++at)
        sum = sum * 33 + (unsigned char)from[at];
    return sum;
}

static void look_at(const char* path) {
    static char content[1 << 20];
    struct stat facts;
    int file;
    long got;
    returned("stat", stat(path, &facts));
    file = open(path, O_RDONLY);
    returned("look", file < 0 ? -1 : 0);
    if (file < 0)
        return;
    note("size %ld\n", (long)facts.st_size);
    got = read(file, content, sizeof content);
    note("read %ld %lu\n", got, sum_of(content, got));
    close(file);
}

static int file[open_files];
static FILE* stream[streams];

static void open_one(int at) {
    static const int access[] = {O_WRONLY, O_WRONLY, O_WRONLY, O_RDWR, O_RDONLY};
    static const int more[] = {
        O_CREAT, O_CREAT | O_TRUNC, O_CREAT | O_TRUNC, O_CREAT | O_APPEND, O_CREAT | O_EXCL, 0};
    if (file[at] >= 0)
        returned("close", close(file[at]));
    const char* path = name();
    file[at] = open(path, access[below(5)] | more[below(6)], 0600);
    note("open %s %d %d\n", path, file[at] >= 0, file[at] >= 0 ? 0 : errno);
}

static void call_on_file(int at) {
    const int on = file[at];
    struct iovec parts[2] = {{data, 50}, {data + 50, 70}};
    struct stat facts;
    note("file %d: ", at);
    switch (below(22)) {
    case 0:
        returned("lseek", lseek(on, below(20000), below(2) ? SEEK_SET : SEEK_END));
        break;
    case 1:
        returned("tell", lseek(on, 0, SEEK_CUR));
        break;
    case 2:
        returned("pwrite", pwrite(on, data, some_bytes(), below(30000)));
        break;
    case 3: {
        const long got = read(on, text, sizeof text);
        returned("read", got);
        note("%lu\n", sum_of(text, got));
        break;
    }
    case 4:
        some_bytes();
        returned("writev", writev(on, parts, 2));
        break;
    case 5:
        returned("ftruncate", ftruncate(on, below(20000)));
        break;
    case 6:
        returned("fsync", below(2) ? fsync(on) : fdatasync(on));
        break;
    case 7:
        returned("fstat", fstat(on, &facts));
        if (on >= 0)
            note("size %ld\n", (long)facts.st_size);
        break;
    case 8: {
        const int copy = dup(on);
        note("dup %d\n", copy >= 0);
        returned("write copy", write(copy, data, some_bytes()));
        returned("write", write(on, data, some_bytes()));
        if (copy >= 0)
            returned("close copy", close(copy));
        break;
    }
    case 9: {
        const int other = (int)below(open_files);
        if (file[other] >= 0 && on >= 0)
            note("dup2 %d\n", dup2(on, file[other]) == file[other]);
        break;
    }
    case 10:
        returned("getfl", fcntl(on, F_GETFL));
        break;
    case 11:
        returned("setfl", fcntl(on, F_SETFL, below(2) ? O_APPEND : 0));
        break;
    case 12:
        open_one(at);
        break;
    default:
        returned("write", write(on, data, some_bytes()));
    }
}

static void open_stream(int at) {
    static const char* modes[] = {"w", "w", "w", "a", "w+", "r+", "r"};
    if (stream[at])
        returned("fclose", fclose(stream[at]));
    const char* path = name();
    const char* mode = modes[below(7)];
    stream[at] = fopen(path, mode);
    note("fopen %s %s %d\n", path, mode, stream[at] != NULL);
    if (stream[at] && !strpbrk(mode, "r+") &&
        below(6) == 0)  // reading unbuffered flushes a line-buffered stdout
        setvbuf(stream[at], NULL, below(2) ? _IOLBF : _IONBF, 0);
}

static void call_on_stream(int at) {
    FILE* on = stream[at];
    note("stream %d: ", at);
    if (!on)
        return open_stream(at);
    switch (below(14)) {
    case 0:
        returned("fflush", fflush(on));
        break;
    case 1:
        returned("fseek", fseek(on, below(3000), SEEK_SET));
        break;
    case 2:
        returned("ftell", ftell(on));
        break;
    case 3:
        fflush(on);
        returned("write to descriptor", write(fileno(on), data, some_bytes()));
        break;
    case 4:
        fflush(on);
        if (fseek(on, 0, SEEK_SET) == 0) {
            const size_t got = fread(text, 1, sizeof text, on);
            note("fread %zu %lu\n", got, sum_of(text, (long)got));
        }
        fseek(on, 0, SEEK_END);
        break;
    case 5:
        open_stream(at);
        break;
    case 6:
        returned("fputs", fputs("some text\n", on) < 0 ? -1 : 0);
        break;
    case 7: {
        struct stat facts;
        returned("fstat", fstat(fileno(on), &facts));
        note("size %ld\n", (long)facts.st_size);
        break;
    }
    case 8:
    case 9:
        returned("fprintf", fprintf(on, "%u %f\n", below(1000), below(1000) / 8.0));
        break;
    default: {
        const size_t bytes = some_bytes();
        note("fwrite %zu\n", fwrite(data, 1, bytes, on));
    }
    }
}

static void look_from_child(void) {
    int status = 0;
    const char* path = name();
    const pid_t child = fork();
    if (child == 0) {
        struct stat facts;
        _exit(stat(path, &facts) == 0 ? (int)(facts.st_size % 251) : 255);
    }
    waitpid(child, &status, 0);
    note("child %s %d\n", path, status);
}

static void call_on_paths(void) {
    switch (below(12)) {
    case 0:
        returned("rename", rename(name(), name()));
        break;
    case 1:
        returned("unlink", unlink(name()));
        break;
    case 2:
        returned("truncate", truncate(name(), below(9000)));
        break;
    case 3:
        look_from_child();
        break;
    case 4: {
        char command[64];
        snprintf(command, sizeof command, "test $(cat f%u 2>&1 | wc -c) -gt %u", below(names), below(9000));
        note("system %d\n", system(command));
        break;
    }
    case 5:
        returned("link", link(name(), name()));
        break;
    default:
        look_at(name());
    }
}

static void print_something(void) {
    const unsigned number = below(100000);
    note("print %u\n", number);
    switch (below(6)) {
    case 0:
        puts("a line");
        break;
    case 1:
        printf("%u beginning", number);
        break;
    case 2:
        returned("write stdout", write(1, "written\n", 8));
        break;
    case 3:
        returned("flush stdout", fflush(stdout));
        break;
    default:
        printf("%u and the rest of a line\n", number);
    }
}

int main(int argc, char** argv) {
    char path[4096], directory[32];
    MPI_Init(&argc, &argv);
    if (argc != 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    snprintf(path, sizeof path, "%s.%d", argv[3], rank);
    snprintf(directory, sizeof directory, "rank%d", rank);
    if (mkdir(directory, 0700) != 0 || chdir(directory) != 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    state = strtoull(argv[1], NULL, 10) * 1000003u + (uint64_t)rank;
    memset(file, -1, sizeof file);
    if (below(2))
        setvbuf(stdout, NULL, _IOLBF, 0);
    for (long step = strtol(argv[2], NULL, 10); step > 0; --step) {
        const uint32_t kind = below(100);
        if (kind < 45)
            call_on_file((int)below(open_files));
        else if (kind < 80)
            call_on_stream((int)below(streams));
        else if (kind < 90)
            call_on_paths();
        else
            print_something();
        if (step % 50 == 0) {
            struct stat facts;
            char other[64];
            MPI_Barrier(MPI_COMM_WORLD);
            snprintf(other, sizeof other, "../rank%d/f%u", (rank + 1) % ranks, below(names));
            const long result = stat(other, &facts);
            returned("other's", result);
            if (result == 0)
                note("size %ld\n", (long)facts.st_size);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int at = 0; at < open_files; at += 2)
        if (file[at] >= 0)
            returned("close", close(file[at]));
    for (int at = 0; at < streams; at += 2)
        if (stream[at])
            returned("fclose", fclose(stream[at]));
    FILE* out = fopen(path, "w");
    if (!out || fwrite(log_text, 1, log_used, out) != log_used || fclose(out) != 0)
        MPI_Abort(MPI_COMM_WORLD, 4);
    MPI_Finalize();
    return 0;
}
