/* Lets ranks of MPICH that wait give their CPU away: preloaded, it yields whenever UCX has made no progress.
   MPICH spins without end and has no setting for it, so that more ranks than free CPUs wait for whole time
   slices. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

unsigned ucp_worker_progress(void* worker) {
    static unsigned (*next)(void*);
    if (!next) {
        void* ucx =
            dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD); /* also where the program opened MPI for itself */
        next = (unsigned (*)(void*))dlsym(ucx ? ucx : RTLD_NEXT, "ucp_worker_progress");
    }
    unsigned events = next(worker);
    if (events == 0)
        sched_yield();
    return events;
}
