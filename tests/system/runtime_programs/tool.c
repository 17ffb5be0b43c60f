// Another tool that counts sends, and looks at local calls, through the profiling interface.
#include <mpi.h>
#include <stdio.h>

static int sends;

int MPI_Send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
    ++sends;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int MPI_Comm_size(MPI_Comm comm, int* size) { return PMPI_Comm_size(comm, size); }

int MPI_Finalize(void) {
    fprintf(stderr, "tool saw %d sends\n", sends);
    return PMPI_Finalize();
}
