// Makes the shared memory of a node: rank 0 creates a file without a name, the others open it through /proc.
#include "coll/shared_memory.hpp"

#include "base/own_file.hpp"
#include "world/agreement.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpiric::coll {
namespace {

// By number: older C libraries than the kernel have neither names nor functions for them.
constexpr unsigned close_on_exec = 1, not_executable = 8;  // MFD_CLOEXEC, MFD_NOEXEC_SEAL (Linux 6.3)
constexpr unsigned at_once = 1;                            // GRND_NONBLOCK

/// Address of rank 0's file and a number that identifies it: process numbers differ between namespaces.
struct Address {
    int32_t pid = 0, file = -1;
    uint64_t number = 0;  ///< drawn by lot
};

// The runtime watches open and close for the program: its own do not pass there.
void close_file(int file) noexcept { syscall(SYS_close, file); }

/// -1 when there can be none.
int create(uint64_t number, size_t bytes) noexcept {
    if (!may_be_as_long_as(bytes))
        return -1;
    char name[32];
    std::snprintf(name, sizeof name, "mpiric-%016" PRIx64, number);
    long file = syscall(SYS_memfd_create, name, close_on_exec | not_executable);
    if (file < 0 && errno == EINVAL)
        file = syscall(SYS_memfd_create, name, close_on_exec);
    if (file >= 0 && ftruncate(int(file), off_t(bytes)) != 0) {
        close_file(int(file));
        return -1;
    }
    return int(file);
}

Address offer(size_t bytes) noexcept {
    Address address;
    if (syscall(SYS_getrandom, &address.number, sizeof address.number, at_once) != sizeof address.number)
        return address;
    address.pid = getpid();
    address.file = create(address.number, bytes);
    return address;
}

/// The file behind an address; -1 when it is another file. Its name is read before it is opened, because
/// opening another process's pipe or device is not harmless.
int open_offered(const Address& address) noexcept {
    char path[64], expected[64], found[64];
    if (address.file < 0)
        return -1;
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", int(address.pid), int(address.file));
    const int length =
        std::snprintf(expected, sizeof expected, "/memfd:mpiric-%016" PRIx64 " (deleted)", address.number);
    if (syscall(SYS_readlinkat, AT_FDCWD, path, found, sizeof found) != length ||
        std::memcmp(found, expected, size_t(length)) != 0)
        return -1;
    return int(syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC));
}

/// Takes pages for a part, near the calling rank. Else the first touch might end the program.
bool take(int file, off_t begin, off_t bytes) noexcept {
    int code;
    do
        code = fallocate(file, 0, begin, bytes);
    while (code != 0 && errno == EINTR);
    return code == 0;
}

char* map_whole(int file, size_t bytes) noexcept {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return at == MAP_FAILED ? nullptr : static_cast<char*>(at);
}

}  // namespace

bool SharedMemory::map(MPI_Comm node, size_t part_bytes, bool able) noexcept {
    const world::ShadowComm shadow = world::with_rank(node);
    bytes_ = part_bytes * size_t(shadow.size);
    Address address;
    if (shadow.rank == 0 && able)
        address = offer(bytes_);
    const bool received = world::broadcast(shadow, &address, sizeof address);
    const int file = shadow.rank == 0 ? address.file : received && able ? open_offered(address) : -1;
    if (file >= 0 && take(file, off_t(part_bytes) * shadow.rank, off_t(part_bytes)))
        data_ = map_whole(file, bytes_);
    uint64_t lacking = data_ == nullptr;
    // Rank 0's file stays open until all have come this far.
    const bool agreed = world::allreduce_max(shadow, {&lacking, 1});
    if (file >= 0)
        close_file(file);
    return agreed && !lacking;
}

SharedMemory::~SharedMemory() {
    if (data_)
        munmap(data_, bytes_);
}

}  // namespace mpiric::coll
