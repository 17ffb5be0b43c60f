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
struct Recorded {
    const void* starts[most];
    int count = 0;
    SpinLock lock;
};
constinit Recorded recorded{};

}  // namespace

bool find_module(const void* address, CodeModule& module) noexcept {
    Dl_info where{};
    if (!address || !dladdr(address, &where) || !where.dli_fbase)
        return false;
    module.start = where.dli_fbase;
    // The executable is known by the name it was called by, which need not be a path.
    if (!std::strchr(where.dli_fname, '/') || !realpath(where.dli_fname, module.path)) {
        const ssize_t length = readlink("/proc/self/exe", module.path, sizeof module.path - 1);
        module.path[length > 0 ? length : 0] = '\0';
    }
    return true;
}

void record_module(void* address) noexcept {
    CodeModule module;
    if (!find_module(address, module))
        return;
    char key[32];
    std::snprintf(key, sizeof key, "module.%lx", reinterpret_cast<unsigned long>(module.start));
    const Held held(recorded.lock, true);
    const void** end = recorded.starts + recorded.count;
    if (recorded.count == most || std::find(recorded.starts, end, module.start) != end)
        return;
    recorded.starts[recorded.count++] = module.start;
    runtime.recorder.fact(key, module.path);
}

}  // namespace mpiric::symbols
