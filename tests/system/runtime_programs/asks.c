// Asks which functions there are, as programs do that run with older and newer libraries.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const char* names[] = {"MPI_Send", "MPI_Status_get_source"};
    for (int at = 0; at < 2; ++at)
        printf("%s %s\n", names[at], dlsym(RTLD_DEFAULT, names[at]) ? "there" : "missing");
    MPI_Finalize();
    return 0;
}
