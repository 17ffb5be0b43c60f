// Four threads that exchange messages with themselves and write, while signal handlers write on separate
// stacks at addresses above the stacks of the threads.
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { thread_count = 4, rounds = 3000, stack_bytes = 1 << 16 };

static int nothing;
static void* stacks[thread_count];
static MPI_Comm comms[thread_count];
static atomic_int running = thread_count;

static void write_a_byte(int signal_number) {
    (void)signal_number;
    if (write(nothing, "s", 1) < 0)
        abort();
}

static void* exchange(void* number) {
    const int at = (int)(long)number;
    const stack_t stack = {.ss_sp = stacks[at], .ss_size = stack_bytes};
    sigaltstack(&stack, NULL);
    for (int round = 0; round < rounds; ++round) {
        int sent = round, got = -1;
        MPI_Request request;
        MPI_Irecv(&got, 1, MPI_INT, 0, 0, comms[at], &request);
        MPI_Send(&sent, 1, MPI_INT, 0, 0, comms[at]);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (got != sent || write(nothing, "t", 1) < 0)
            abort();
    }
    --running;
    while (running > 0)
        usleep(1000);
    return NULL;
}

int main(int argc, char** argv) {
    int provided;
    pthread_t threads[thread_count];
    const struct sigaction action = {.sa_handler = write_a_byte, .sa_flags = SA_ONSTACK | SA_RESTART};
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    nothing = open("/dev/null", O_WRONLY);
    sigaction(SIGUSR1, &action, NULL);
    for (int at = 0; at < thread_count; ++at) {
        stacks[at] = mmap(NULL, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        MPI_Comm_dup(MPI_COMM_SELF, &comms[at]);
    }
    for (long at = 0; at < thread_count; ++at)
        pthread_create(&threads[at], NULL, exchange, (void*)at);
    while (running > 0) {
        for (int at = 0; at < thread_count; ++at)
            pthread_kill(threads[at], SIGUSR1);
        usleep(50);
    }
    for (int at = 0; at < thread_count; ++at)
        pthread_join(threads[at], NULL);
    MPI_Finalize();
    return 0;
}
