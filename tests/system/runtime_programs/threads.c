// Four threads that poll at once, a forked child that writes, two passes through a region.
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void* poll_often(void* unused) {
    int flag;
    for (int call = 0; call < 1000; ++call)
        MPI_Iprobe(0, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    return unused;
}

int main(int argc, char** argv) {
    int provided;
    char path[PATH_MAX], block[1000] = "";
    pthread_t threads[4];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Pcontrol(7);
    for (int at = 0; at < 4; ++at)
        pthread_create(&threads[at], NULL, poll_often, NULL);
    for (int at = 0; at < 4; ++at)
        pthread_join(threads[at], NULL);
    MPI_Pcontrol(-7);
    MPI_Pcontrol(7);
    MPI_Pcontrol(-7);
    snprintf(path, sizeof path, "%.*s/written", (int)(strrchr(argv[0], '/') - argv[0]), argv[0]);
    int file = open(path, O_WRONLY | O_CREAT, 0600);
    for (int part = 0; part < 3; ++part)
        if (write(file, block, sizeof block) < 0)
            return 1;
    if (fork() == 0) {
        _exit(write(file, block, sizeof block) < 0);
    }
    wait(NULL);
    close(file);
    MPI_Finalize();
    return 0;
}
