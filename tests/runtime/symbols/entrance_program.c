// Calls through an entrance with more arguments than registers, twice, and opens a library through another.
#include <dlfcn.h>
#include <stdio.h>

double MPI_Send(long, long, long, long, long, long, long, long, double, double, double, double, double,
                double, double, double, long, long);
int entrance_first_calls(void);

int main(void) {
    for (int call = 0; call < 2; ++call)
        printf("%.1f ", MPI_Send(1, 2, 3, 4, 5, 6, 7, 8, .5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 9, 10));
    printf("%d ", dlopen("libm.so.6", RTLD_NOW) != NULL);
    printf("%d\n", entrance_first_calls());
    return 0;
}
