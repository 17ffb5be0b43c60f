// Errors: when the disk is full, held bytes stay held, and the next write, fsync or close fails. A program
// that makes room and writes again loses nothing; close is the last call that reports the error.
#include "deferred/deferred.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace mpiric::deferred {
namespace {

constexpr size_t large_part = 4;  // a write of more than this part of a buffer is not joined

Descriptor* entry_of(int descriptor) noexcept {
    return descriptor >= 0 && descriptor < descriptor_count ? &state.descriptors[descriptor] : nullptr;
}

bool write_out(int number, Descriptor& entry) noexcept {
    if (entry.bytes == 0)
        return true;
    const size_t written = write_fully(number, entry.held, entry.bytes);
    const int error = errno;
    entry.bytes -= written;
    if (entry.stream && entry.bytes == 0)
        --state.streams_held;
    state.held_bytes.fetch_sub(written, std::memory_order_relaxed);
    entry.failed = entry.bytes > 0;
    if (entry.failed && written > 0)
        std::memmove(entry.held, entry.held + written, entry.bytes);
    errno = error;
    return !entry.failed;
}

/// Releases the buffer, including bytes that could not be written.
void release(Descriptor& entry) noexcept {
    if (entry.stream && entry.bytes > 0)
        --state.streams_held;
    state.held_bytes.fetch_sub(entry.bytes, std::memory_order_relaxed);
    delete_buffer(entry.held, state.capacity);
    entry.held = nullptr;
    entry.bytes = 0;
    entry.failed = false;
    entry.may_hold = false;
}

/// Writes out what a descriptor holds, and does something with it under the same lock: `then(entry,
/// written)`. False, with errno, where the writing failed.
template <class Then> bool write_out_and(int number, Then&& then) noexcept {
    const Holding holding;
    if (!holding.taken())
        return true;
    Descriptor& entry = state.descriptors[number];
    const bool written = write_out(number, entry);
    const int error = errno;
    then(entry, written);
    errno = error;
    return written;
}

/// The same file under two descriptors shows at once what is written to it: neither holds any more.
bool is_open_elsewhere(int number, const struct stat& file) noexcept {
    bool found = false;
    for (int other = 0; other < state.descriptors_end; ++other) {
        Descriptor& entry = state.descriptors[other];
        if (other == number || !entry.regular || entry.inode != file.st_ino || entry.device != file.st_dev)
            continue;
        found = true;
        if (write_out(other, entry))
            release(entry);
    }
    return found;
}

/// Whether stdio itself writes to the stream of a descriptor.
bool stdio_writes(const Descriptor& entry) noexcept {
    constexpr int currently_putting = 0x800;  // bit of glibc's FILE::_flags
    return entry.stream && (entry.stream->_flags & currently_putting);
}

/// Whether the descriptor is still what was opened: it may have been closed by means that are not seen.
bool is_the_same(int number, const Descriptor& entry) noexcept {
    struct stat file{};
    return fstat(number, &file) == 0 && file.st_ino == entry.inode && file.st_dev == entry.device;
}

}  // namespace

void begin_write_behind(size_t bytes) noexcept {
    // A limit on the size of files answers with a signal at the very write that goes beyond it.
    rlimit limit{};
    const bool is_limited = getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
    state.capacity = is_limited ? 0 : bytes;
    constexpr int most_seen = 256;
    for (int number = 0; number < most_seen; ++number)
        note_opened(number, {.flags = O_RDWR});
}

bool note_opened(int number, const Opening& opening) noexcept {
    Descriptor* entry = entry_of(number);
    struct stat file{};
    if (!entry || fstat(number, &file) != 0)
        return true;
    const Holding holding;
    if (!holding.taken())
        return true;
    *entry = Descriptor{};
    if (!S_ISREG(file.st_mode))
        return true;
    const bool shared = is_open_elsewhere(number, file);
    if (shared)
        shrink_buffers_of(file);
    entry->regular = true;
    entry->device = file.st_dev;
    entry->inode = file.st_ino;
    entry->stream = opening.stream;
    entry->may_hold = state.capacity > 0 && !shared && (opening.flags & O_ACCMODE) == O_WRONLY &&
                      !(opening.flags & (O_DSYNC | O_SYNC | O_DIRECT | O_NONBLOCK));
    state.descriptors_end = state.descriptors_end > number ? state.descriptors_end : number + 1;
    return shared;
}

bool note_closing(int number) noexcept {
    const Descriptor* noted = entry_of(number);
    return !noted || !noted->regular || write_out_and(number, [](Descriptor& entry, bool) {
        release(entry);
        entry = Descriptor{};
    });
}

void forget_descriptors() noexcept {
    for (int number = 0; number < state.descriptors_end; ++number)
        note_closing(number);
}

bool stop_holding(int number) noexcept {
    return !may_hold(number) || write_out_and(number, [](Descriptor& entry, bool written) {
        if (written)
            release(entry);
    });
}

void stop_holding_all() noexcept {
    for (int number = 0; number < state.descriptors_end; ++number)
        stop_holding(number);
}

bool write_out(int number) noexcept {
    Descriptor* entry = entry_of(number);
    if (!entry || entry->bytes == 0)
        return true;
    const Holding holding;
    return !holding.taken() || write_out(number, *entry);
}

void write_out_files() noexcept {
    for (int number = 0;
         number < state.descriptors_end && state.held_bytes.load(std::memory_order_relaxed) > 0; ++number)
        write_out(number, state.descriptors[number]);
}

void write_out_before_streams() noexcept {
    if (state.streams_held.load(std::memory_order_relaxed) == 0)
        return;
    const Holding holding;
    for (int number = 0; holding.taken() && number < state.descriptors_end; ++number)
        if (stdio_writes(state.descriptors[number]) && write_out(number, state.descriptors[number]))
            release(state.descriptors[number]);
}

bool may_hold(int number) noexcept {
    const Descriptor* entry = entry_of(number);
    return entry && entry->may_hold;
}

ssize_t write_behind(int number, const void* from, size_t bytes) noexcept {
    const Holding holding;
    if (!holding.taken() || bytes == 0)
        return write_now(number, from, bytes);
    Descriptor& entry = state.descriptors[number];
    const bool small = bytes <= state.capacity / large_part;
    if ((entry.failed || !small || entry.bytes + bytes > state.capacity) && !write_out(number, entry))
        return -1;
    if (entry.bytes == 0 && (stdio_writes(entry) || (small && !is_the_same(number, entry)))) {
        release(entry);
        return write_now(number, from, bytes);
    }
    if (!small || !entry.may_hold || (!entry.held && !(entry.held = new_buffer(state.capacity))))
        return write_now(number, from, bytes);
    if (entry.stream && entry.bytes == 0)
        ++state.streams_held;
    std::memcpy(entry.held + entry.bytes, from, bytes);
    entry.bytes += bytes;
    state.held_bytes.fetch_add(bytes, std::memory_order_relaxed);
    bound_lateness();
    return ssize_t(bytes);
}

}  // namespace mpiric::deferred
