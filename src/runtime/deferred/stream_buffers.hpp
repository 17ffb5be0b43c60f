// Larger buffers of stdio for files that a program opens to write only, unless it sets some itself.
#pragma once

#include <cstddef>
#include <cstdio>
#include <sys/stat.h>

namespace mpiric::deferred {

/// The size of the buffer that glibc gives a stream.
inline size_t plain_block(const struct stat& facts) noexcept {
    return facts.st_blksize > 0 && facts.st_blksize < BUFSIZ ? size_t(facts.st_blksize) : BUFSIZ;
}

void begin_stream_buffers(size_t bytes) noexcept;

/// A stream has just been opened: gives it a buffer where it writes to a regular file that is not `shared`
/// with another descriptor of this process.
void give_buffer(FILE* stream, const char* mode, bool shared) noexcept;
/// A file is open a second time: its streams keep buffers as in the plain run, under the lock of Holding.
void shrink_buffers_of(const struct stat& file) noexcept;
/// The program is about to say how the stream is buffered: it gets back what it had.
void note_own_buffer(FILE* stream) noexcept;
/// The stream is about to be closed. Its buffer, to be deleted afterwards, and the error of an earlier write
/// of ours.
struct ClosedStream {
    char* buffer = nullptr;
    int error = 0;
};
ClosedStream take_buffer(FILE* stream) noexcept;
void delete_stream_buffer(const ClosedStream& closed) noexcept;

/// Writes out, under the lock of Holding, those streams of which the plain run would have written something
/// by now that this one has not. Streams that another thread is at work on are left to it.
void write_out_streams() noexcept;
bool any_stream_buffered() noexcept;

}  // namespace mpiric::deferred
