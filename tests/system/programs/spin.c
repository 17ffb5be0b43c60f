/* Keeps all its threads busy, each for some seconds of its own CPU time: longer where others take the cores.
 */
#include <stdlib.h>
#include <time.h>

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? atof(argv[1]) : 1.0;
#pragma omp parallel
    {
        struct timespec used;
        do {
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
        } while (used.tv_sec + used.tv_nsec * 1e-9 < seconds);
    }
    return 0;
}
