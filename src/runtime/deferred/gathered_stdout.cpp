// The stream keeps its bytes in a large buffer of its own, whichever function of stdio they come from; the
// number of due bytes is computed when it matters. In a line-buffered stream all bytes up to the last newline
// are due, in an unbuffered one all, in a fully buffered one the flushed bytes and all beyond the plain run's
// buffer. Fortran, Python and others use write(1), whose bytes have a second buffer. Order: due bytes of the
// stream are written before more is held in the second buffer, and the second buffer is written before more
// of the stream. Each write is of at most PIPE_BUF bytes and ends with a line if a line ends in it: a pipe
// that several ranks share takes each write whole.
#include "deferred/deferred.hpp"

#include "base/say.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <stdio_ext.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mpiric::deferred {
namespace {

// Bits of glibc's FILE::_flags.
constexpr int unbuffered_flag = 0x2, error_flag = 0x20, line_buffered_flag = 0x200;

constexpr Gathered& gathered = state.gathered;

size_t pending() noexcept { return gathered.of_stream ? __fpending(stdout) : 0; }

size_t lines_of(const char* from, size_t bytes) noexcept {
    const void* last = bytes ? memrchr(from, '\n', bytes) : nullptr;
    return last ? size_t(static_cast<const char*>(last) - from) + 1 : 0;
}

/// Writes in pieces that a pipe takes whole, of whole lines where they fit; returns bytes written.
size_t write_lines(const char* from, size_t bytes) noexcept {
    size_t done = 0;
    while (done < bytes) {
        size_t piece = std::min<size_t>(bytes - done, PIPE_BUF);
        if (const size_t lines = piece < bytes - done ? lines_of(from + done, piece) : 0)
            piece = lines;
        const size_t put = write_fully(STDOUT_FILENO, from + done, piece);
        done += put;
        if (put < piece)
            break;
    }
    return done;
}

/// Bytes of the stream that the plain run would have written by now.
size_t due_in_stream() noexcept {
    const size_t bytes = pending();
    if (gathered.mode == _IONBF)
        return bytes;
    if (gathered.mode == _IOLBF)
        return std::max(lines_of(stdout->_IO_write_base, bytes), std::min(gathered.flushed, bytes));
    const size_t flushed = std::min(gathered.flushed, bytes);
    if (flushed > 0)
        return flushed + (bytes - flushed) / gathered.block * gathered.block;
    const size_t blocks = (gathered.ahead + bytes) / gathered.block * gathered.block;
    return blocks > gathered.ahead ? blocks - gathered.ahead : 0;
}

/// An error of the pipe is reported to the program; bytes that could not be written are lost, as with stdio.
bool judge_written(size_t written, size_t asked) noexcept {
    if (written == asked)
        return true;
    gathered.error = errno;
    stdout->_flags |= error_flag;
    return false;
}

bool write_out_direct() noexcept {
    const size_t bytes = gathered.direct_bytes;
    gathered.direct_bytes = 0;
    state.held_bytes.fetch_sub(bytes, std::memory_order_relaxed);
    return bytes == 0 || judge_written(write_lines(gathered.direct, bytes), bytes);
}

/// Under the lock of the stream.
bool write_out_stream(size_t bytes) noexcept {
    const size_t all = pending();
    bytes = std::min(bytes, all);
    if (bytes == 0)
        return true;
    char* base = stdout->_IO_write_base;
    const bool written = judge_written(write_lines(base, bytes), bytes);
    std::memmove(base, base + bytes, all - bytes);
    stdout->_IO_write_ptr = base + (all - bytes);
    const bool restarted = gathered.flushed > 0 && bytes >= gathered.flushed;
    gathered.ahead = (restarted ? bytes - gathered.flushed : gathered.ahead + bytes) % gathered.block;
    gathered.flushed -= std::min(gathered.flushed, bytes);
    return written;
}

/// Holds the lock of the stream for a scope; not taken by who has it already.
class StreamLock {
  public:
    StreamLock() noexcept {
        taken_ = !gathered.of_stream || !is_locked_by_this_thread(stdout);
        if (taken_ && gathered.of_stream)
            flockfile(stdout);
    }
    ~StreamLock() {
        if (taken_ && gathered.of_stream)
            funlockfile(stdout);
    }
    bool taken() const noexcept { return taken_; }
    StreamLock(const StreamLock&) = delete;
    StreamLock& operator=(const StreamLock&) = delete;

  private:
    bool taken_ = false;
};

int mode_of_stream() noexcept {
    if (stdout->_flags & unbuffered_flag)
        return _IONBF;
    const bool undecided = stdout->_IO_buf_base == nullptr;  // terminals are found out with the first byte
    return __flbf(stdout) || (undecided && isatty(STDOUT_FILENO)) ? _IOLBF : _IOFBF;
}

}  // namespace

void begin_stdout(size_t bytes) noexcept {
    struct stat out{}, errors{};
    if (fstat(STDOUT_FILENO, &out) != 0 || S_ISREG(out.st_mode) || S_ISBLK(out.st_mode))
        return;
    // Where messages go to the same pipe or terminal, lines come when they are printed.
    if (fstat(STDERR_FILENO, &errors) == 0 && errors.st_ino == out.st_ino && errors.st_dev == out.st_dev)
        return;
    gathered.capacity = std::max<size_t>(bytes, size_t{4} * PIPE_BUF);
    gathered.direct = new_buffer(gathered.capacity);
    char* buffer = new_buffer(gathered.capacity);
    if (!gathered.direct || !buffer)
        return;
    gathered.of_stream = fileno(stdout) == STDOUT_FILENO;
    gathered.block = 4096;
    if (gathered.of_stream) {
        gathered.mode = mode_of_stream();
        gathered.block = size_t(std::max<blksize_t>(out.st_blksize, 1024));
        libc<int (*)(FILE*, char*, int, size_t)>(Posix::setvbuf)(stdout, buffer, _IOFBF, gathered.capacity);
    }
    gathered.active = true;
}

bool write_out_stdout(Outgoing what) noexcept {
    if (!gathered.active)
        return true;
    const StreamLock stream;
    if (!stream.taken())
        return true;
    const Holding holding;
    if (!holding.taken())
        return true;
    const bool first = write_out_direct();
    const size_t due = due_in_stream();
    const size_t lines = what == Outgoing::lines ? lines_of(stdout->_IO_write_base, pending()) : 0;
    return write_out_stream(std::max(due, lines)) && first;
}

void write_out_stdout_at_end() noexcept {
    const Holding holding(Patience::briefly);
    if (!gathered.active || !holding.taken())
        return;
    write_out_direct();
    write_out_stream(due_in_stream());
}

void end_stdout() noexcept {
    if (!gathered.active)
        return;
    write_out_stdout(Outgoing::due);
    gathered.active = false;
    if (gathered.of_stream && gathered.mode != _IOFBF)
        libc<int (*)(FILE*, char*, int, size_t)>(Posix::setvbuf)(stdout, nullptr, gathered.mode, 0);
}

void make_room() noexcept {
    if (!gathered.active)
        return;
    if (gathered.direct_bytes > 0)
        write_out_stdout(Outgoing::due);
    if (pending() >= gathered.capacity / 2)
        write_out_stdout(Outgoing::lines);
    bound_lateness();
}

int flush_stdout_later() noexcept {
    const StreamLock stream;
    gathered.flushed = pending();
    bound_lateness();
    if (gathered.error == 0)
        return 0;
    errno = gathered.error;
    gathered.error = 0;
    return EOF;
}

void set_stdout_mode(int mode, size_t bytes) noexcept {
    const StreamLock stream;
    if (gathered.mode == _IONBF && bytes == 0)
        return;  // glibc leaves it its buffer of one byte, whatever the mode
    gathered.flushed = due_in_stream();
    gathered.mode = mode;
    if (bytes > 0)
        gathered.block = bytes;
}

ssize_t write_stdout_later(const void* from, size_t bytes) noexcept {
    const StreamLock stream;
    if (!stream.taken())
        return write_now(STDOUT_FILENO, from, bytes);
    const Holding holding;
    if (!holding.taken())
        return write_now(STDOUT_FILENO, from, bytes);
    if (gathered.error) {
        errno = gathered.error;
        gathered.error = 0;
        return -1;
    }
    const size_t due = due_in_stream();
    const bool fits = gathered.direct_bytes + bytes <= gathered.capacity;
    if ((due > 0 || !fits) && !write_out_direct())
        return -1;
    write_out_stream(due);
    if (bytes > gathered.capacity / 2)
        return write_now(STDOUT_FILENO, from, bytes);
    std::memcpy(gathered.direct + gathered.direct_bytes, from, bytes);
    gathered.direct_bytes += bytes;
    state.held_bytes.fetch_add(bytes, std::memory_order_relaxed);
    bound_lateness();
    return ssize_t(bytes);
}

void leave_stdout_to_child() noexcept {
    if (!gathered.active)
        return;
    gathered.active = false;
    if (!gathered.of_stream)
        return;
    if (gathered.mode == _IONBF)
        libc<int (*)(FILE*, char*, int, size_t)>(Posix::setvbuf)(stdout, nullptr, _IONBF, 0);
    if (gathered.mode == _IOLBF) {
        stdout->_flags |= line_buffered_flag;
        stdout->_IO_write_end = stdout->_IO_write_base;  // the next byte is looked at
    }
}

}  // namespace mpiric::deferred
