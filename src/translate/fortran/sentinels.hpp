// Fortran's MPI_BOTTOM and its like: variables in common blocks, known by their addresses. The dynamic linker
// may have put them into the executable: they are reached as the program reaches them.
// clang-format off
#pragma once

#include "fortran/common_blocks.hpp"
#include "fortran/family.hpp"

extern "C" {
#define COMMON(name, bytes) [[gnu::visibility("default")]] extern char name[bytes];
#if MPIRIC_IS(MPIRIC_PROGRAM) == 2
#define COMMONS(upper, lower)                                                                                 \
    COMMON(MPI_FORTRAN_##upper, 4) COMMON(mpi_fortran_##lower, 4) COMMON(mpi_fortran_##lower##_, 4) COMMON(mpi_fortran_##lower##__, 4)
COMMON_BLOCKS(COMMONS)
#else
[[gnu::visibility("default")]] extern char mpipriv1_[28], mpipriv2_[24], mpiprivc_[2], mpifcmb5_[4], mpifcmb9_[4], mpifcmba_[4];
[[gnu::visibility("default")]] extern int *MPI_UNWEIGHTED, *MPI_WEIGHTS_EMPTY;
#endif
}

namespace mpiric::translate {

#if MPIRIC_IS(MPIRIC_PROGRAM) == 2
#define IS(upper, lower)                                                                                      \
    inline bool is_##lower(const void* given) {                                                               \
        return given == mpi_fortran_##lower##_ || given == mpi_fortran_##lower##__ || given == mpi_fortran_##lower ||      \
               given == MPI_FORTRAN_##upper;                                                                  \
    }
COMMON_BLOCKS(IS)
#undef IS
inline bool is_buffer_automatic(const void*) { return false; }
inline int* unweighted() { return program::unweighted; }
inline int* weights_empty() { return program::weights_empty; }
#else
// COMMON /MPIPRIV1/ MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE and so on
inline bool is_bottom(const void* given) { return given == mpipriv1_; }
inline bool is_in_place(const void* given) { return given == mpipriv1_ + 4; }
inline bool is_status_ignore(const void* given) { return given == mpipriv1_ + 8; }
inline bool is_statuses_ignore(const void* given) { return given == mpipriv2_; }
inline bool is_errcodes_ignore(const void* given) { return given == mpipriv2_ + 20; }
inline bool is_argvs_null(const void* given) { return given == mpiprivc_; }
inline bool is_argv_null(const void* given) { return given == mpiprivc_ + 1; }
inline bool is_unweighted(const void* given) { return given == mpifcmb5_; }
inline bool is_weights_empty(const void* given) { return given == mpifcmb9_; }
inline bool is_buffer_automatic(const void* given) { return given == mpifcmba_; }
inline int* unweighted() { return MPI_UNWEIGHTED; }
inline int* weights_empty() { return MPI_WEIGHTS_EMPTY; }
#endif

inline void* in_buffer(const void* given) {
    if (is_bottom(given))
        return nullptr;
    return is_in_place(given) ? program::in_place : is_buffer_automatic(given) ? program::buffer_automatic : const_cast<void*>(given);
}
inline PStatus* in_status(PStatus* given) { return is_status_ignore(given) ? program::status_ignore : given; }
inline PStatus* in_statuses(PStatus* given) { return is_statuses_ignore(given) ? program::status_ignore : given; }
inline int* in_weights(const int* given) {
    return is_unweighted(given) ? unweighted() : is_weights_empty(given) ? weights_empty() : const_cast<int*>(given);
}

}  // namespace mpiric::translate
