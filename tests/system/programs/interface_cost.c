/* Prints a cost that settings decide, not time: 1 where a variable names the network fast0, else 4. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

extern char** environ;

int main(int argc, char** argv) {
    int rank, cost = 4;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (char** each = environ; *each; each++) {
        const char* value = strchr(*each, '=');
        if (value && strcmp(value, "=fast0") == 0)
            cost = 1;
    }
    if (rank == 0)
        printf("cost %d\n", cost);
    MPI_Finalize();
    return 0;
}
