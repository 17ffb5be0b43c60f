// A new file of a fixed length, mapped.
#pragma once

#include "base/file_limit.hpp"
#include "base/own_file.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace mpiric {

/// Makes a file that was not there, with all its room given at once, and maps it: a full disk must be an
/// error here and now, not a SIGBUS in the middle of the program. Null where that fails; `reason` then says
/// why.
inline void* map_new_file(const char* path, uint64_t bytes, const char*& reason) noexcept {
    if (!may_be_as_long_as(bytes)) {
        reason = std::strerror(EFBIG);
        return nullptr;
    }
    const int file = create_file(path, O_RDWR, 0644);
    if (file < 0) {
        reason = std::strerror(errno);
        return nullptr;
    }
    const int refused = posix_fallocate(file, 0, off_t(bytes));
    void* at = refused ? MAP_FAILED : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) {
        reason = std::strerror(refused ? refused : errno);
        unlink(path);
    }
    ::close(file);
    return at == MAP_FAILED ? nullptr : at;
}

}  // namespace mpiric
