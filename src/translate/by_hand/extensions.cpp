// Extensions that ask what memory the library can send from. The library is asked where it has them; else the
// answer is no.

#include "library.hpp"

#include <dlfcn.h>

namespace mpiric::translate {
namespace {

/// The library's function of a name; null when it has none.
template <class Function> Function* extension_of_library(const char* name) {
    mpiric_open();
    return reinterpret_cast<Function*>(symbol_of_library(name));
}

int ask_library(const char* name) {
    auto* const ask = extension_of_library<int()>(name);
    return ask ? ask() : 0;
}

}  // namespace
}  // namespace mpiric::translate

extern "C" {
using mpiric::translate::ask_library;

[[gnu::visibility("default")]] int MPIX_Query_cuda_support(void) {
    return ask_library("MPIX_Query_cuda_support");
}
[[gnu::visibility("default")]] int MPIX_Query_hip_support(void) {
    return ask_library("MPIX_Query_hip_support");
}
[[gnu::visibility("default")]] int MPIX_Query_rocm_support(void) {
    return ask_library("MPIX_Query_rocm_support");
}
[[gnu::visibility("default")]] int MPIX_Query_ze_support(void) {
    return ask_library("MPIX_Query_ze_support");
}
/// MPICH's: the kinds of memory are numbers of its own.
[[gnu::visibility("default")]] int MPIX_GPU_query_support(int kind, int* is_supported) {
    auto* const ask = mpiric::translate::extension_of_library<int(int, int*)>("MPIX_GPU_query_support");
    *is_supported = 0;
    return ask ? ask(kind, is_supported) : 0;
}
}
