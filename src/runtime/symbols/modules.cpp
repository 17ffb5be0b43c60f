#include "symbols/modules.hpp"

#include "base/spin_lock.hpp"
#include "profile/context.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

namespace mpiric::symbols {
namespace {

constexpr int most = 64;
constinit const void* recorded[most];
constinit int recorded_count = 0;
constinit SpinLock lock;

}  // namespace

void record_module(void* address) noexcept {
    Dl_info where{};
    if (!address || !dladdr(address, &where) || !where.dli_fbase)
        return;
    char path[4096];
    // The executable is known by the name it was called by, which need not be a path.
    const bool named = std::strchr(where.dli_fname, '/') && realpath(where.dli_fname, path);
    if (!named) {
        const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
        path[length > 0 ? length : 0] = '\0';
    }
    char key[32];
    std::snprintf(key, sizeof key, "module.%lx", reinterpret_cast<unsigned long>(where.dli_fbase));
    const Held held(lock, true);
    if (recorded_count == most ||
        std::find(recorded, recorded + recorded_count, where.dli_fbase) != recorded + recorded_count)
        return;
    recorded[recorded_count++] = where.dli_fbase;
    runtime.recorder.fact(key, path);
}

}  // namespace mpiric::symbols
