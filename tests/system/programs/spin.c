/* Keeps all its threads busy for some seconds. */
#include <stdlib.h>
#include <time.h>
int main(int argc, char **argv) {
    const double seconds = argc > 1 ? atof(argv[1]) : 1.0;
#pragma omp parallel
    {
        struct timespec begin, now;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        do {
            clock_gettime(CLOCK_MONOTONIC, &now);
        } while (now.tv_sec - begin.tv_sec + (now.tv_nsec - begin.tv_nsec) * 1e-9 < seconds);
    }
    return 0;
}
