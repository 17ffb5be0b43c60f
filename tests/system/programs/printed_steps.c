/* Steps of 2 ms with a sum over all ranks, for programs that are linked statically: every fifth is a line of
 * output. `printed_steps N [quiet]`; quiet ones print their result alone. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Of libudev there is no archive; hwloc does without devices where it finds none. */
void* udev_new(void) { return NULL; }
void udev_unref(void* udev) { (void)udev; }
void* udev_device_new_from_subsystem_sysname(void* udev, const char* subsystem, const char* name) {
    (void)udev, (void)subsystem, (void)name;
    return NULL;
}
const char* udev_device_get_property_value(void* device, const char* key) {
    (void)device, (void)key;
    return NULL;
}
void udev_device_unref(void* device) { (void)device; }

int main(int argc, char** argv) {
    setlinebuf(stdout);
    MPI_Init(&argc, &argv);
    const long steps = atol(argv[1]);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double sum = rank + 1.0;
    for (long step = 0; step < steps; ++step) {
        usleep(2000);
        double part = sum / 3.0 + step % 5;
        MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (rank == 0 && argc == 2 && step % 5 == 0)
            printf("step %ld sum %.10f\n", step, sum);
    }
    if (rank == 0)
        printf("sum %.10f\n", sum);
    MPI_Finalize();
    return 0;
}
