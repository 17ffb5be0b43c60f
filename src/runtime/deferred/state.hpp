// State of the layer of deferred output. Protected by the lock of Holding, except for the held bytes.
#pragma once

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <sys/types.h>

namespace mpiric::deferred {

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
    char* beside = nullptr;  ///< bytes held for write(1)
    size_t beside_bytes = 0;
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

}  // namespace mpiric::deferred
