/* Linked to no MPI library: opens the one of a name as a plug-in does, and prints the size of the world. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
    void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int size = 0;
    if (!library)
        return 1;
    int (*init)(int*, char***) = (int (*)(int*, char***))dlsym(library, "MPI_Init");
    int (*world_size)(unsigned long, int*) = (int (*)(unsigned long, int*))dlsym(library, "MPI_Comm_size");
    int (*finalize)(void) = (int (*)(void))dlsym(library, "MPI_Finalize");
    init(&argc, &argv);
    /* MPI_COMM_WORLD is a number in MPICH's ABI, and an object in Open MPI's. */
    void* object = dlsym(library, "ompi_mpi_comm_world");
    world_size(object ? (unsigned long)object : 0x44000000ul, &size);
    printf("size %d\n", size);
    return finalize();
}
