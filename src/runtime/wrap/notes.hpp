// Notes taken about a call of each function, generated from spec/mpi/recording.toml.
#pragma once

#include "wrap/intercept.hpp"

#define MPIRIC_INLINE [[gnu::always_inline]] inline

namespace mpiric::wrap {

struct NothingNoted {
    template <class... Arguments> MPIRIC_INLINE static void before(const Arguments&...) {}
    template <class C, class... Arguments> MPIRIC_INLINE static void entering(C&, const Arguments&...) {}
    template <class C, class... Arguments> MPIRIC_INLINE static void after(C&, const Arguments&...) {}
};

/// Statements before a call of a function, at its entrance where it is recorded, and after a successful call.
template <Function> struct Notes : NothingNoted {};

#include "wrap/notes.inc"

}  // namespace mpiric::wrap
