// The functions behind the entrances in this test: the first call of a function is resolved, with every
// register for arguments overwritten on the way, and the later ones go straight on.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

extern void* mpiric_slots[] __attribute__((visibility("hidden")));
static int first_calls;

static double weighted(long a, long b, long c, long d, long e, long f, long g, long h, double p, double q,
                       double r, double s, double t, double u, double v, double w, long i, long j) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * p + 12 * q +
           13 * r + 14 * s + 15 * t + 16 * u + 17 * v + 18 * w;
}

static double spoil(long a, long b, long c, long d, long e, long f, long g, long h, double p, double q,
                    double r, double s, double t, double u, double v, double w) {
    return a * p + b * q + c * r + d * s + e * t + f * u + g * v + h * w;
}

__attribute__((visibility("hidden"))) void* mpiric_resolve(uint32_t index) {
    double (*volatile call)(long, long, long, long, long, long, long, long, double, double, double, double,
                            double, double, double, double) = spoil;
    call(-1, -2, -3, -4, -5, -6, -7, -8, -.1, -.2, -.3, -.4, -.5, -.6, -.7, -.8);
    ++first_calls;
    mpiric_slots[index] = (void*)weighted;
    return (void*)weighted;
}

__attribute__((visibility("hidden"))) void* mpiric_opening(const char* path) {
    first_calls += path ? 0 : 100;
    return dlsym(RTLD_NEXT, "dlopen");
}

int entrance_first_calls(void) { return first_calls; }
