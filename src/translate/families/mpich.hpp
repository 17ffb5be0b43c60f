// The ABI of MPICH, Intel MPI and MVAPICH (libmpi.so.12): handles are numbers, files' addresses.
#pragma once

#include "classes.hpp"
#include "generated/mpich.hpp"

namespace mpiric::translate::mpich {

inline constexpr bool has_numbers = true;  ///< handles are numbers, not addresses

template <class T> struct HandleOf {
    using type = int;
};
template <> struct HandleOf<File> {
    using type = void*;
};

struct Status {
    int low, high_and_cancelled, MPI_SOURCE, MPI_TAG, MPI_ERROR;

    unsigned long long bytes() const {
        return unsigned(low) | (unsigned long long)(unsigned(high_and_cancelled) >> 1) << 32;
    }
    bool cancelled() const { return high_and_cancelled & 1; }
    void set(unsigned long long bytes, bool cancelled) {
        low = int(bytes);
        high_and_cancelled = int(unsigned(bytes >> 32) << 1 | unsigned(cancelled));
    }
};
inline Status* const status_ignore = reinterpret_cast<Status*>(1);
inline void* const in_place = reinterpret_cast<void*>(-1L);
inline void* const buffer_automatic = reinterpret_cast<void*>(-2L);
inline constexpr bool has_cells = false;  // predefined handles are addresses of objects, others in Fortran
inline constexpr bool weights_are_data = true;
inline constexpr int fortran_keyval_offset = 1;
inline constexpr int keyval_offset = 0;

}  // namespace mpiric::translate::mpich
