#include "symbols/readable.hpp"

#include <cctype>
#include <cstdint>
#include <sys/uio.h>
#include <unistd.h>

namespace mpiric::symbols {

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
