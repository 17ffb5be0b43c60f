// Finds the file that a code address belongs to, and reads memory that may not be there.
#include "symbols/modules.hpp"
#include "base/spin_lock.hpp"
#include "profile/context.hpp"
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/uio.h>
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

bool read_text(const void* from, char* to, size_t room) noexcept {
    if (!from)
        return false;
    // Up to the end of the page first: the next page may not be mapped.
    const size_t in_page = 4096 - (reinterpret_cast<uintptr_t>(from) & 4095);
    const iovec local = {to, room - 1};
    const iovec remote[2] = {{const_cast<void*>(from), in_page < room - 1 ? in_page : room - 1},
                             {reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(from) + in_page),
                              in_page < room - 1 ? room - 1 - in_page : 0}};
    const ssize_t got = process_vm_readv(getpid(), &local, 1, remote, 2, 0);
    if (got <= 0)
        return false;
    to[got] = '\0';
    size_t length = 0;
    while (to[length] && std::isprint(static_cast<unsigned char>(to[length])))
        ++length;
    return length > 0 && to[length] == '\0' && length < size_t(got);
}

bool read_bytes(const void* from, void* to, size_t bytes) noexcept {
    const iovec local = {to, bytes}, remote = {const_cast<void*>(from), bytes};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == ssize_t(bytes);
}

}  // namespace mpiric::symbols
