/* MPICH calls the handler for a communicator that has nowhere to go, and then says that all is well. */
#include <mpi.h>
#include <stdio.h>

static int calls = 0;

static void count(MPI_Comm* comm, int* code, ...) {
    (void)comm, (void)code;
    ++calls;
}

int main(void) {
    MPI_Session session;
    MPI_Group group;
    MPI_Errhandler handler;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Comm_create_errhandler(count, &handler);
    MPI_Group_from_session_pset(session, "mpi://SELF", &group);
    MPI_Comm_create_from_group(group, "nowhere", MPI_INFO_NULL, handler, NULL);
    MPI_Group_free(&group);
    MPI_Errhandler_free(&handler);
    MPI_Session_finalize(&session);
    printf("%d call\n", calls);
    return 0;
}
