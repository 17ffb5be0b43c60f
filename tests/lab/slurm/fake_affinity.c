/* For slurmd on nodes that are said to have more CPUs than the machine: preloaded, it takes every CPU mask,
 * answers with the mask it was given, and sets what there is of it (CPU n is folded onto n modulo the
 * machine's number). */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { REMEMBERED = 64 };

static struct {
    pid_t process;
    cpu_set_t mask;
} given[REMEMBERED];
static int next;

static cpu_set_t* mask_of(pid_t process) {
    for (int i = 0; i < REMEMBERED; i++)
        if (given[i].process == process)
            return &given[i].mask;
    return NULL;
}

static size_t smaller(size_t bytes) { return bytes < sizeof(cpu_set_t) ? bytes : sizeof(cpu_set_t); }

int sched_setaffinity(pid_t process, size_t bytes, const cpu_set_t* mask) {
    if (process == 0)
        process = getpid();
    cpu_set_t* remembered = mask_of(process);
    if (remembered == NULL) {
        given[next].process = process;
        remembered = &given[next].mask;
        next = (next + 1) % REMEMBERED;
    }
    CPU_ZERO(remembered);
    memcpy(remembered, mask, smaller(bytes));
    long there = sysconf(_SC_NPROCESSORS_CONF);
    cpu_set_t folded;
    CPU_ZERO(&folded);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, remembered))
            CPU_SET(cpu % there, &folded);
    syscall(SYS_sched_setaffinity, process, sizeof folded, &folded);
    return 0;
}

int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t* mask) {
    const cpu_set_t* remembered = mask_of(process == 0 ? getpid() : process);
    memset(mask, 0, bytes);
    if (remembered) {
        memcpy(mask, remembered, smaller(bytes));
        return 0;
    }
    return syscall(SYS_sched_getaffinity, process, bytes, mask) < 0 ? -1 : 0;
}
