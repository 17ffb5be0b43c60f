// The ABI of the MPI standard (libmpi_abi.so.1): handles are addresses, of predefined objects small numbers.
#pragma once

#include "classes.hpp"
#include "generated/standard.hpp"

namespace mpiric::translate::standard {

inline constexpr bool has_numbers = false;  ///< handles are numbers, not addresses

template <class T> struct HandleOf {
    using type = void*;
};

struct Status {
    int MPI_SOURCE, MPI_TAG, MPI_ERROR, internal[5];

    unsigned long long bytes() const {
        return unsigned(internal[0]) | (unsigned long long)(unsigned(internal[1]) >> 1) << 32;
    }
    bool cancelled() const { return internal[1] & 1; }
    void set(unsigned long long bytes, bool cancelled) {
        internal[0] = int(bytes);
        internal[1] = int(unsigned(bytes >> 32) << 1 | unsigned(cancelled));
    }
};
inline Status* const status_ignore = nullptr;
inline void* const in_place = reinterpret_cast<void*>(1L);
inline void* const buffer_automatic = reinterpret_cast<void*>(2L);
inline constexpr bool has_cells = false;  // predefined handles are addresses of objects, others in Fortran
inline constexpr bool weights_are_data = false;
inline void* const all_handles = reinterpret_cast<void*>(1L);  // all handles of performance variables
inline int* const unweighted = reinterpret_cast<int*>(10L);
inline int* const weights_empty = reinterpret_cast<int*>(11L);
inline constexpr int fortran_keyval_offset = 0;
inline constexpr int keyval_offset = 0;

}  // namespace mpiric::translate::standard
