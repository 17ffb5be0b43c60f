// Errors: where the disk is full, what is held stays held, and the write, fsync or close that comes next
// fails. A program that makes room and writes again loses nothing; close is the last to tell.
#include "deferred/write_behind.hpp"

#include "deferred/holding.hpp"
#include "deferred/lateness.hpp"
#include "deferred/stream_buffers.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace mpiric::deferred {
namespace {

constexpr size_t large_part = 4;  // a write of more than this part of a buffer is no small one

struct Descriptor {
    const FILE* stream = nullptr;
    dev_t device = 0;
    ino_t inode = 0;
    char* held = nullptr;  ///< buffer of `capacity` bytes, which follow the descriptor's position in the file
    size_t bytes = 0;
    bool regular = false;  ///< and seen when it was opened
    bool may_hold = false;
    bool added_noatime = false;
    bool failed = false;  ///< to write out what it holds, the last time
};
constinit Descriptor descriptors[descriptor_count];
constinit int descriptors_end = 0;           ///< above all that were noted
constinit std::atomic<int> streams_held{0};  ///< descriptors of streams for which something is held
constinit size_t capacity = 0;               ///< of a buffer; 0: nothing is held

Descriptor* of(int descriptor) noexcept {
    return descriptor >= 0 && descriptor < descriptor_count ? &descriptors[descriptor] : nullptr;
}

/// A limit on the size of files answers with a signal at the very write that goes beyond it.
bool sizes_are_limited() noexcept {
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

bool write_out(int number, Descriptor& state) noexcept {
    if (state.bytes == 0)
        return true;
    const size_t written = write_fully(number, state.held, state.bytes);
    const int error = errno;
    state.bytes -= written;
    if (state.stream && state.bytes == 0)
        --streams_held;
    held_bytes.fetch_sub(written, std::memory_order_relaxed);
    state.failed = state.bytes > 0;
    if (state.failed && written > 0)
        std::memmove(state.held, state.held + written, state.bytes);
    errno = error;
    return !state.failed;
}

/// Gives up the buffer, and what could not be written of it.
void release(Descriptor& state) noexcept {
    if (state.stream && state.bytes > 0)
        --streams_held;
    held_bytes.fetch_sub(state.bytes, std::memory_order_relaxed);
    delete_buffer(state.held, capacity);
    state.held = nullptr;
    state.bytes = 0;
    state.failed = false;
    state.may_hold = false;
}

/// Writes out what a descriptor holds, and does something with it under the same lock: `then(state,
/// written)`. False, with errno, where the writing failed.
template <class Then> bool write_out_and(int number, Then&& then) noexcept {
    const Holding holding;
    if (!holding.taken())
        return true;
    Descriptor& state = descriptors[number];
    const bool written = write_out(number, state);
    const int error = errno;
    then(state, written);
    errno = error;
    return written;
}

/// The same file under two descriptors shows at once what is written to it: neither holds anything from here
/// on.
bool is_open_elsewhere(int number, const struct stat& file) noexcept {
    bool found = false;
    for (int other = 0; other < descriptors_end; ++other) {
        Descriptor& state = descriptors[other];
        if (other == number || !state.regular || state.inode != file.st_ino || state.device != file.st_dev)
            continue;
        found = true;
        if (write_out(other, state))
            release(state);
    }
    return found;
}

/// Whether stdio itself writes to the stream of a descriptor.
bool stdio_writes(const Descriptor& state) noexcept {
    constexpr int currently_putting = 0x800;  // of glibc's FILE
    return state.stream && (state.stream->_flags & currently_putting);
}

/// Whether the descriptor is still what was opened: it may have been closed by means that are not seen.
bool is_the_same(int number, const Descriptor& state) noexcept {
    struct stat file{};
    return fstat(number, &file) == 0 && file.st_ino == state.inode && file.st_dev == state.device;
}

}  // namespace

void begin_write_behind(size_t bytes) noexcept {
    capacity = sizes_are_limited() ? 0 : bytes;
    constexpr int most_seen = 256;
    for (int number = 0; number < most_seen; ++number)
        note_opened(number, {.flags = O_RDWR});
}

bool note_opened(int number, const Opening& opening) noexcept {
    Descriptor* state = of(number);
    struct stat file{};
    if (!state || fstat(number, &file) != 0)
        return true;
    const Holding holding;
    if (!holding.taken())
        return true;
    *state = Descriptor{};
    if (!S_ISREG(file.st_mode))
        return true;
    const bool shared = is_open_elsewhere(number, file);
    if (shared)
        shrink_buffers_of(file);
    state->regular = true;
    state->device = file.st_dev;
    state->inode = file.st_ino;
    state->added_noatime = opening.added_noatime;
    state->stream = opening.stream;
    state->may_hold = capacity > 0 && !shared && (opening.flags & O_ACCMODE) == O_WRONLY &&
                      !(opening.flags & (O_DSYNC | O_SYNC | O_DIRECT | O_NONBLOCK));
    descriptors_end = descriptors_end > number ? descriptors_end : number + 1;
    return shared;
}

bool note_closing(int number) noexcept {
    const Descriptor* noted = of(number);
    return !noted || !noted->regular || write_out_and(number, [](Descriptor& state, bool) {
        release(state);
        state = Descriptor{};
    });
}

void forget_descriptors() noexcept {
    for (int number = 0; number < descriptors_end; ++number)
        note_closing(number);
}

bool stop_holding(int number) noexcept {
    return !may_hold(number) || write_out_and(number, [](Descriptor& state, bool written) {
        if (written)
            release(state);
    });
}

void stop_holding_all() noexcept {
    for (int number = 0; number < descriptors_end; ++number)
        stop_holding(number);
}

bool write_out(int number) noexcept {
    Descriptor* state = of(number);
    if (!state || state->bytes == 0)
        return true;
    const Holding holding;
    return !holding.taken() || write_out(number, *state);
}

void write_out_files() noexcept {
    for (int number = 0; number < descriptors_end && held_bytes.load(std::memory_order_relaxed) > 0; ++number)
        write_out(number, descriptors[number]);
}

void write_out_before_streams() noexcept {
    if (streams_held.load(std::memory_order_relaxed) == 0)
        return;
    const Holding holding;
    for (int number = 0; holding.taken() && number < descriptors_end; ++number)
        if (stdio_writes(descriptors[number]) && write_out(number, descriptors[number]))
            release(descriptors[number]);
}

bool may_hold(int number) noexcept {
    const Descriptor* state = of(number);
    return state && state->may_hold;
}

bool has_added_noatime(int number) noexcept {
    const Descriptor* state = of(number);
    return state && state->added_noatime;
}

ssize_t write_behind(int number, const void* from, size_t bytes) noexcept {
    const auto straight = [&] {
        return libc<ssize_t (*)(int, const void*, size_t)>(Posix::write)(number, from, bytes);
    };
    const Holding holding;
    if (!holding.taken() || bytes == 0)
        return straight();
    Descriptor& state = descriptors[number];
    const bool small = bytes <= capacity / large_part;
    if ((state.failed || !small || state.bytes + bytes > capacity) && !write_out(number, state))
        return -1;
    if (state.bytes == 0 && (stdio_writes(state) || (small && !is_the_same(number, state)))) {
        release(state);
        return straight();
    }
    if (!small || !state.may_hold || (!state.held && !(state.held = new_buffer(capacity))))
        return straight();
    if (state.stream && state.bytes == 0)
        ++streams_held;
    std::memcpy(state.held + state.bytes, from, bytes);
    state.bytes += bytes;
    held_bytes.fetch_add(bytes, std::memory_order_relaxed);
    bound_lateness();
    return ssize_t(bytes);
}

}  // namespace mpiric::deferred
