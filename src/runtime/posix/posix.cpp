// Looks up the next definition of each name of libc, when this library is loaded.
#include "posix/posix.hpp"

#include <cerrno>
#include <dlfcn.h>

namespace mpiric {
namespace {

#if defined(__x86_64__)
constexpr const char* first_version = "GLIBC_2.2.5";  // first version of the platform's libc
#else
constexpr const char* first_version = "GLIBC_2.17";
#endif

/// The next definition of each name, and a replacement for it.
struct Definitions {
    void* found[posix_count];
    void* put_before[posix_count];
};
constinit Definitions definitions{};

int missing() noexcept {
    errno = ENOSYS;
    return -1;
}

void* look_up(uint32_t at) noexcept {
    void* definition = dlsym(RTLD_NEXT, posix_traits[at].name);
    if (!definition)  // kept for programs that were built with an earlier libc
        definition = dlvsym(RTLD_NEXT, posix_traits[at].name, first_version);
    return definition ? definition : reinterpret_cast<void*>(missing);
}

/// All at once and early: a first call may come from a signal handler, which must not ask the linker.
[[gnu::constructor]] void find_next_functions() {
    for (uint32_t at = 0; at < posix_count; ++at)
        libc_posix(at);
}

}  // namespace

void* libc_posix(uint32_t at) noexcept {
    if (!definitions.found[at])
        definitions.found[at] = look_up(at);
    return definitions.found[at];
}

void* next_posix(uint32_t at) noexcept {
    return definitions.put_before[at] ? definitions.put_before[at] : libc_posix(at);
}

void set_next_posix(uint32_t at, void* call) noexcept {
    if (has_posix(at))
        definitions.put_before[at] = call;
}

bool has_posix(uint32_t at) noexcept { return libc_posix(at) != reinterpret_cast<void*>(missing); }

}  // namespace mpiric
