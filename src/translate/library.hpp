// The library underneath: its functions, and the state of a translated call.
#pragma once

#include "classes.hpp"
#include "room.hpp"

// Targets of the entrances, two for each function, MPI_ then PMPI_: the translation (or a function above it)
// when the call is the program's, the library's function when the call is the library's own.
extern "C" [[gnu::visibility("hidden")]] void* mpiric_targets[];
extern "C" [[gnu::visibility("hidden")]] void* mpiric_originals[];
// How deep this thread is in calls of the library: more than 0 and a call is its own. The entrances read it.
extern "C"
    [[gnu::visibility("hidden"), gnu::tls_model("initial-exec")]] constinit thread_local int mpiric_depth;

/// Opens the library, once.
extern "C" [[gnu::visibility("hidden")]] void mpiric_open();

namespace mpiric::translate {

/// A function of the library.
template <Function function, class Signature> [[gnu::always_inline]] inline Signature* original() {
    return reinterpret_cast<Signature*>(mpiric_originals[2UL * function]);
}

/// Whether what calls this stand-in is one too: that one's program has another ABI.
extern bool is_below_another;

/// While a call of the program is being answered.
struct Inside {
    Inside() { mpiric_depth = 1; }
    ~Inside() { mpiric_depth = 0; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
};

/// While a function of the program is being called by the library.
struct Outside {
    Outside() : before(mpiric_depth) { mpiric_depth = 0; }
    ~Outside() { mpiric_depth = before; }
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;
    int before;
};

/// Says why a call cannot be answered, and raises the error where the program has put its handler.
int refuse(Function function, const char* why);
/// A symbol of the library itself, null when it has none.
void* symbol_of_library(const char* name);
/// An address of the library's data, null when it has no such symbol.
void* data_symbol(const char* name);

}  // namespace mpiric::translate
