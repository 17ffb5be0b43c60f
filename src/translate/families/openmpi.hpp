// The ABI of Open MPI (libmpi.so.40): handles are addresses, predefined ones are addresses of data symbols.
#pragma once

#include "classes.hpp"
#include "generated/openmpi.hpp"

namespace mpiric::translate::openmpi {

inline constexpr bool has_numbers = false;  ///< handles are numbers, not addresses

template <class T> struct HandleOf {
    using type = void*;
};

struct Status {
    int MPI_SOURCE, MPI_TAG, MPI_ERROR, is_cancelled;
    unsigned long long count;

    unsigned long long bytes() const { return count; }
    bool cancelled() const { return is_cancelled; }
    void set(unsigned long long bytes, bool cancelled) {
        count = bytes;
        is_cancelled = cancelled;
    }
};
inline Status* const status_ignore = nullptr;
inline void* const in_place = reinterpret_cast<void*>(1L);
inline void* const buffer_automatic = nullptr;  // it has none
inline constexpr bool has_cells = true;  // predefined handles are addresses of objects, others in Fortran
inline constexpr bool weights_are_data = false;
inline void* const all_handles = reinterpret_cast<void*>(-1L);  // all handles of performance variables
inline int* const unweighted = reinterpret_cast<int*>(2L);
inline int* const weights_empty = reinterpret_cast<int*>(3L);
inline constexpr int fortran_keyval_offset = 0;
inline constexpr int keyval_offset =
    0x10000;  // its keyvals count from 0: no other family's predefined ones are met

}  // namespace mpiric::translate::openmpi
