// Extensions that ask what memory the library can send from. A library without them means no.

#include "library.hpp"

#include <dlfcn.h>

namespace mpiric::translate {
namespace {

/// The library's function of a name; null when it has none.
template <class Function> Function* extension_of_library(const char* name) {
    mpiric_open();
    return reinterpret_cast<Function*>(symbol_of_library(name));
}

}  // namespace
}  // namespace mpiric::translate

extern "C" {
#define MPIRIC_QUERY(name)                                                                                   \
    [[gnu::visibility("default")]] int name(void) {                                                          \
        auto* const ask = mpiric::translate::extension_of_library<int()>(#name);                             \
        return ask ? ask() : 0;                                                                              \
    }
MPIRIC_QUERY(MPIX_Query_cuda_support)
MPIRIC_QUERY(MPIX_Query_hip_support)
MPIRIC_QUERY(MPIX_Query_rocm_support)
MPIRIC_QUERY(MPIX_Query_ze_support)
#undef MPIRIC_QUERY
/// MPICH's: the kinds of memory are numbers of its own.
[[gnu::visibility("default")]] int MPIX_GPU_query_support(int kind, int* is_supported) {
    auto* const ask = mpiric::translate::extension_of_library<int(int, int*)>("MPIX_GPU_query_support");
    *is_supported = 0;
    return ask ? ask(kind, is_supported) : 0;
}
}
