// In the plain run a block of the file is written when it is full. So at each point where others may look,
// all blocks that are full by then are written here too: others see no older state than otherwise.
#include "deferred/deferred.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdio_ext.h>
#include <sys/stat.h>

namespace mpiric::deferred {
namespace {

Stream* stream_of(FILE* file) noexcept {
    for (Stream& stream : state.streams)
        if (stream.file == file)
            return &stream;
    return nullptr;
}

bool only_writes(const char* mode) noexcept {
    return (*mode == 'w' || *mode == 'a') && !std::strchr(mode, '+');
}

/// Writes the blocks that are full, and keeps what follows them; as the stream itself would.
void write_out(Stream& stream) noexcept {
    FILE& file = *stream.file;
    const size_t pending = __fpending(&file);
    if (stream.block == 0 || pending < stream.block)
        return;
    const size_t due = pending / stream.block * stream.block;
    const size_t written = write_fully(fileno_unlocked(&file), file._IO_write_base, due);
    if (written < due)
        stream.error = errno;
    std::memmove(file._IO_write_base, file._IO_write_base + written, pending - written);
    file._IO_write_ptr -= written;
    if (file._offset >= 0)
        file._offset += off64_t(written);
}

/// Leaves the stream a buffer of one block, as in the plain run.
void shrink(Stream& stream) noexcept {
    FILE& file = *stream.file;
    write_out(stream);
    if (stream.block == 0 || __fpending(&file) >= stream.block)
        return;
    file._IO_buf_end = file._IO_buf_base + stream.block;
    if (file._IO_write_end > file._IO_buf_end)
        file._IO_write_end = file._IO_buf_end;
    stream.block = 0;
}

/// Calls, under the lock of the stream, unless another function of stdio is at work on it.
template <class Change> void change(Stream& stream, Change&& change) noexcept {
    if (is_locked_by_this_thread(stream.file) || ftrylockfile(stream.file) != 0)
        return;
    change(stream);
    funlockfile(stream.file);
}

}  // namespace

void give_buffer(FILE* file, const char* mode, bool shared) noexcept {
    struct stat facts{};
    if (shared || state.stream_capacity == 0 || !only_writes(mode) || fstat(fileno(file), &facts) != 0 ||
        !S_ISREG(facts.st_mode) || state.stream_capacity <= BUFSIZ)
        return;
    char* buffer = new_buffer(state.stream_capacity);
    if (!buffer)
        return;
    const Holding holding;
    Stream* stream = holding.taken() ? stream_of(nullptr) : nullptr;
    if (!stream || libc<int (*)(FILE*, char*, int, size_t)>(Posix::setvbuf)(file, buffer, _IOFBF,
                                                                            state.stream_capacity) != 0) {
        delete_buffer(buffer, state.stream_capacity);
        return;
    }
    *stream = {.file = file,
               .buffer = buffer,
               .block =
                   std::min<size_t>(facts.st_blksize > 0 ? facts.st_blksize : BUFSIZ, BUFSIZ),  // glibc's own
               .device = facts.st_dev,
               .inode = facts.st_ino};
    ++state.buffered;
}

void shrink_buffers_of(const struct stat& file) noexcept {
    for (Stream& stream : state.streams)
        if (stream.file && stream.inode == file.st_ino && stream.device == file.st_dev)
            change(stream, shrink);
}

void note_own_buffer(FILE* file) noexcept {
    if (!any_stream_buffered())
        return;
    const Holding holding;
    if (Stream* stream = holding.taken() ? stream_of(file) : nullptr)
        change(*stream, shrink);
}

ClosedStream::ClosedStream(FILE* file) noexcept {
    if (!file || !any_stream_buffered())
        return;
    const Holding holding;
    Stream* stream = holding.taken() ? stream_of(file) : nullptr;
    if (!stream)
        return;
    buffer = stream->buffer;
    error = stream->error;
    *stream = {};
    --state.buffered;
}

void write_out_streams() noexcept {
    if (!any_stream_buffered())
        return;
    for (Stream& stream : state.streams)
        if (stream.file)
            change(stream, [](Stream& each) { write_out(each); });
}

}  // namespace mpiric::deferred
