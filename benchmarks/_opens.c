/* Microseconds of open(2): of files that are made, of the same files opened to read, to write, and of others.
 * Others come first: where a directory's next file is made, and in what time, depends on those before it. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { files = 2000 };

static double now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static int compare(const void* left, const void* right) {
    const double difference = *(const double*)left - *(const double*)right;
    return difference < 0 ? -1 : difference > 0;
}

static void measure(const char* what, const char* stem, int flags) {
    static double took[files];
    char name[64];
    for (int at = 0; at < files; ++at) {
        snprintf(name, sizeof name, "%s.%d", stem, at);
        const double begun = now_us();
        const int file = open(name, flags, 0644);
        took[at] = now_us() - begun;
        if (file < 0 || close(file) != 0)
            MPI_Abort(MPI_COMM_WORLD, 2);
    }
    qsort(took, files, sizeof *took, compare);
    printf("%s %.3f\n", what, took[files / 2]);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    measure("others", "other", O_CREAT | O_WRONLY);
    measure("made", "named", O_CREAT | O_WRONLY);
    measure("read", "named", O_RDONLY);
    measure("both", "named", O_RDWR);
    MPI_Finalize();
    return 0;
}
