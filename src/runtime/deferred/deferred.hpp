// Common parts of deferred output: one lock, libc's own functions, writing to the end.
#pragma once

#include "base/options.hpp"
#include "posix/posix.hpp"
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/types.h>

namespace mpiric::deferred {

// State of the layer. Protected by the lock of Holding, except for the held bytes.

/// Descriptors above are left as the program opens them.
inline constexpr int descriptor_count = 4096;

struct Descriptor {
    const FILE* stream = nullptr;
    dev_t device = 0;
    ino_t inode = 0;
    char* held = nullptr;  ///< buffer of `capacity` bytes, which follow the descriptor's position in the file
    size_t bytes = 0;
    bool regular = false;  ///< and seen when it was opened
    bool may_hold = false;
    bool failed = false;  ///< the last attempt to write the held bytes failed
};

/// A stream with a larger buffer than libc would give it.
struct Stream {
    FILE* file = nullptr;
    char* buffer = nullptr;
    size_t block = 0;  ///< buffer size in the plain run; 0: the program has set a buffer itself
    dev_t device = 0;
    ino_t inode = 0;
    int error = 0;  ///< errno of a write that the program has not been told about
};

/// Standard output.
struct Gathered {
    bool active = false;
    bool of_stream = false;  ///< `stdout` is on descriptor 1
    int mode = _IOFBF;       ///< buffering mode as the program sees it
    size_t block = 0;        ///< block size of a fully buffered stream in the plain run
    size_t capacity = 0;     ///< size of each buffer
    size_t flushed = 0;      ///< bytes at the begin of the stream's buffer that the program has flushed
    size_t ahead = 0;        ///< bytes of the block under way, in the plain run, that are out already
    char* direct = nullptr;  ///< bytes held for write(1)
    size_t direct_bytes = 0;
    int error = 0;  ///< errno of a write that the program has not been told about
};

struct State {
    bool begun = false;
    bool of_child = false;                ///< forked: its parent has written out what was held
    std::atomic<bool> locked{false};      ///< the lock of Holding
    std::atomic<uint64_t> held_bytes{0};  ///< bytes held for all descriptors together, read by the fast paths

    Descriptor descriptors[descriptor_count];
    int descriptors_end = 0;           ///< above all that were noted
    std::atomic<int> streams_held{0};  ///< descriptors of streams for which something is held
    size_t capacity = 0;               ///< size of a descriptor's buffer; 0: nothing is held

    Stream streams[256];
    std::atomic<int> buffered{0};  ///< streams with a buffer of ours
    size_t stream_capacity = 0;    ///< size of such a buffer

    Gathered gathered;

    std::atomic<uint32_t> something_held{0};  ///< a futex that the thread of begin_lateness() sleeps on
    uint32_t late_ms = 0;
    void (*write_out_late)() = nullptr;

    struct sigaction before[65] = {};  ///< answers to signals that end the process
};
inline constinit State state;

/// The function of libc with this name, past any wrapper.
template <class Pointer> Pointer libc(Posix which) noexcept {
    return reinterpret_cast<Pointer>(libc_posix(static_cast<uint32_t>(which)));
}

inline ssize_t write_now(int descriptor, const void* from, size_t bytes) noexcept {
    return libc<ssize_t (*)(int, const void*, size_t)>(Posix::write)(descriptor, from, bytes);
}

/// How long a thread waits for another that is writing out what is held.
enum class Patience : uint8_t { always, briefly };

/// Holds, for a scope, the lock on all that is held back. A signal handler that has interrupted its holder
/// gets it not: it sees taken() false and goes straight to libc.
class Holding {
  public:
    explicit Holding(Patience patience = Patience::always) noexcept;
    ~Holding();
    bool taken() const noexcept { return taken_; }
    Holding(const Holding&) = delete;
    Holding& operator=(const Holding&) = delete;

  private:
    bool taken_ = false;
};

/// Whether this thread is in a function of stdio on the stream, from which a signal handler may have come
/// here, or keeps the others off it: its buffer is then none of ours.
inline bool is_locked_by_this_thread(const FILE* stream) noexcept {
    struct Lock {  // glibc's
        int lock, count;
        pthread_t owner;
    };
    return reinterpret_cast<const Lock*>(stream->_lock)->owner == pthread_self();
}

/// Memory of a buffer, zero bytes of which are touched before they are needed; null when there is none.
char* new_buffer(size_t bytes) noexcept;
void delete_buffer(char* buffer, size_t bytes) noexcept;

/// Writes `bytes` bytes to a descriptor, waiting where it would block; returns the number written. If it is
/// smaller than `bytes`, errno has the reason.
size_t write_fully(int descriptor, const char* from, size_t bytes) noexcept;

/// Bounds how late output is: starts a thread that is asleep while nothing is held, and writes held output
/// `after_ms` after bound_lateness() was called. False when it cannot be started: then nothing may be held.
bool begin_lateness(uint32_t after_ms, void (*write_out)()) noexcept;

/// Something is held from now on. Cheap where that is known already.
void bound_lateness() noexcept;

// Gathers the lines of stdout: lines that a program flushes one by one are written by few system calls.

/// Bytes to write: all that the plain run would have written by now; or these and all further whole lines.
enum class Outgoing : unsigned char { due, lines };

/// Gathers output to stdout up to `bytes`, where stdout is a pipe, a socket or a terminal that stderr does
/// not share. Called before anything else in this process writes to it.
void begin_stdout(size_t bytes) noexcept;
inline bool gathers_stdout() noexcept { return state.gathered.active; }
/// Descriptor 1 or its stream is about to become something else.
void end_stdout() noexcept;

/// Before the program prints: makes room for it.
void make_room() noexcept;
/// Writes out what is gathered; false, with errno, when that failed.
bool write_out_stdout(Outgoing what) noexcept;
/// The same in a signal handler that ends the process: takes no lock of stdio's.
void write_out_stdout_at_end() noexcept;

/// fflush(stdout): the contents of the stream become due, and are written later. Returns as fflush does.
int flush_stdout_later() noexcept;
/// setvbuf(stdout): the mode and the bytes of a buffer, 0 for none given, are kept in mind: they say when
/// lines are due. MPICH makes the stream an unbuffered one.
void set_stdout_mode(int mode, size_t bytes) noexcept;
/// write(1): as write(2) returns.
ssize_t write_stdout_later(const void* from, size_t bytes) noexcept;

/// A forked child has the modes of the program, and gathers nothing.
void leave_stdout_to_child() noexcept;

// Larger buffers of stdio for files that a program opens to write only, unless it sets some itself.

/// A stream has just been opened: gives it a buffer where it writes to a regular file that is not `shared`
/// with another descriptor of this process.
void give_buffer(FILE* stream, const char* mode, bool shared) noexcept;
/// A file is open a second time: its streams keep buffers as in the plain run, under the lock of Holding.
void shrink_buffers_of(const struct stat& file) noexcept;
/// The program is about to say how the stream is buffered: it gets back what it had.
void note_own_buffer(FILE* stream) noexcept;
/// A stream that is about to be closed: its buffer, which is deleted at the end of the scope, and the error
/// of an earlier write of ours.
struct ClosedStream {
    explicit ClosedStream(FILE* stream) noexcept;
    ~ClosedStream() { delete_buffer(buffer, state.stream_capacity); }
    ClosedStream(const ClosedStream&) = delete;
    ClosedStream& operator=(const ClosedStream&) = delete;

    char* buffer = nullptr;
    int error = 0;
};

/// Writes out, under the lock of Holding, those streams of which the plain run would have written something
/// by now that this one has not. Streams that another thread is at work on are left to it.
void write_out_streams() noexcept;
inline bool any_stream_buffered() noexcept { return state.buffered.load(std::memory_order_relaxed) > 0; }

// Small writes to a file that this process has open once, for writing only, joined into large ones.

/// Files opened from here on may hold up to `bytes` each. Notes the regular files that are open already.
void begin_write_behind(size_t bytes) noexcept;

/// How a descriptor was opened.
struct Opening {
    int flags = 0;  ///< flags of open(2)
    /// Stream on the descriptor, if any: C++ and others write past it to the descriptor.
    const FILE* stream = nullptr;
};
/// Whether the file is not a regular one, or this process has opened it before: then it is to behave as in
/// the plain run.
bool note_opened(int descriptor, const Opening& opening) noexcept;
/// A descriptor is about to be closed, or to become another file: writes out what it holds. False, with
/// errno, when that failed; the bytes are lost then.
bool note_closing(int descriptor) noexcept;
/// Descriptors may be closed by a call that tells none of them: nothing is held on those open now any more.
void forget_descriptors() noexcept;
/// The descriptor is used in other ways than by write(2) from here on: nothing is held on it any more.
bool stop_holding(int descriptor) noexcept;
/// The same for all that are open now: a child is about to share them.
void stop_holding_all() noexcept;

/// Writes out what a descriptor holds; false, with errno, where that fails: the bytes stay.
bool write_out(int descriptor) noexcept;
/// Writes out what all descriptors hold, under the lock of Holding; failures are met again by the next call
/// on the file.
void write_out_files() noexcept;

/// Called before stdio writes to a stream: bytes held for their descriptors are written first.
void write_out_before_streams() noexcept;

/// Takes a write of the program's: as write(2) returns.
ssize_t write_behind(int descriptor, const void* from, size_t bytes) noexcept;
bool may_hold(int descriptor) noexcept;

/// Replacement of a libc function, by its number in Posix; null: no replacement (calls.cpp).
void* deferring_call(uint32_t at) noexcept;

/// Writes out what is held of files.
void write_out_all() noexcept;

}  // namespace mpiric::deferred
