// Declarations for src/runtime/world that SMPI lacks. None of these functions is called: the runtime looks
// them up by name and does not find them.
#pragma once

#include <mpi.h>

using MPI_T_enum = void*;
using MPI_T_cvar_handle = void*;

extern "C" {
int PMPI_Group_from_session_pset(void* session, const char* name, MPI_Group* group);
int PMPI_T_init_thread(int required, int* provided);
int PMPI_T_cvar_get_num(int* count);
int PMPI_T_cvar_get_info(int index, char* name, int* length, int* verbosity, MPI_Datatype* type, MPI_T_enum* values,
                         char* text, int* text_length, int* bind, int* scope);
int PMPI_T_cvar_handle_alloc(int index, void* object, MPI_T_cvar_handle* handle, int* count);
int PMPI_T_cvar_read(MPI_T_cvar_handle handle, void* value);
int PMPI_T_cvar_write(MPI_T_cvar_handle handle, const void* value);
}
