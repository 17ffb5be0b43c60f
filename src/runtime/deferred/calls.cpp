// The functions of libc that open, close and write files, as they are while output is held back.
#include "deferred/deferred.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace mpiric::deferred {
namespace {

template <class Open> int open_by(int flags, Open&& open) noexcept {
    write_out_all();
    const int descriptor = open();
    if (descriptor >= 0)
        note_opened(descriptor, {.flags = flags});
    return descriptor;
}

template <Posix which> int d_open(const char* path, int flags, ...) {
    MPIRIC_MODE(flags);
    return open_by(flags, [&] { return libc<int (*)(const char*, int, ...)>(which)(path, flags, mode); });
}
template <Posix which> int d_openat(int directory, const char* path, int flags, ...) {
    MPIRIC_MODE(flags);
    return open_by(flags, [&] {
        return libc<int (*)(int, const char*, int, ...)>(which)(directory, path, flags, mode);
    });
}
template <Posix which> int d_creat(const char* path, mode_t mode) {
    return open_by(O_WRONLY | O_CREAT | O_TRUNC,
                   [&] { return libc<int (*)(const char*, mode_t)>(which)(path, mode); });
}

int d_close(int descriptor) {
    if (descriptor == STDOUT_FILENO)
        end_stdout();
    const bool written = note_closing(descriptor);
    const int error = errno;
    const int result = libc<int (*)(int)>(Posix::close)(descriptor);
    if (written || result != 0)
        return result;
    errno = error;
    return -1;
}

/// Whether other descriptors hold something that the reader of a pipe or socket may look for.
void write_out_before_telling(int descriptor) noexcept {
    if (state.held_bytes.load(std::memory_order_relaxed) > 0 && !may_hold(descriptor))
        write_out_all();
}

ssize_t d_write(int descriptor, const void* from, size_t bytes) {
    if (may_hold(descriptor))
        return write_behind(descriptor, from, bytes);
    if (descriptor == STDOUT_FILENO && gathers_stdout())
        return write_stdout_later(from, bytes);
    write_out_before_telling(descriptor);
    return write_now(descriptor, from, bytes);
}

ssize_t d_writev(int descriptor, const iovec* parts, int count) {
    if (descriptor == STDOUT_FILENO && gathers_stdout())
        write_out_stdout(Outgoing::due);
    if (!write_out(descriptor))
        return -1;
    write_out_before_telling(descriptor);
    return libc<ssize_t (*)(int, const iovec*, int)>(Posix::writev)(descriptor, parts, count);
}

/// A call on one descriptor that depends on what was written to it; it fails as the write would have.
template <Posix which, class Result, class... Arguments>
Result after(int descriptor, Arguments... arguments) {
    if (!write_out(descriptor))
        return -1;
    return libc<Result (*)(int, Arguments...)>(which)(descriptor, arguments...);
}

/// Two descriptors share one position: bytes held for one might be written to the wrong place.
int noted_copy(int copy) noexcept {
    if (copy >= 0)
        note_opened(copy, {.flags = O_RDWR});
    return copy;
}

int d_dup(int descriptor) {
    stop_holding(descriptor);
    return noted_copy(libc<int (*)(int)>(Posix::dup)(descriptor));
}

int replace(int from, int onto, int flags, bool has_flags) noexcept {
    write_out_all();
    const bool valid = from != onto && libc<int (*)(int, int, ...)>(Posix::fcntl)(from, F_GETFD) >= 0;
    stop_holding(from);
    if (valid && onto == STDOUT_FILENO)
        end_stdout();
    if (valid)
        note_closing(onto);
    const int copy = has_flags ? libc<int (*)(int, int, int)>(Posix::dup3)(from, onto, flags)
                               : libc<int (*)(int, int)>(Posix::dup2)(from, onto);
    return valid ? noted_copy(copy) : copy;
}
int d_dup2(int from, int onto) { return replace(from, onto, 0, false); }
int d_dup3(int from, int onto, int flags) { return replace(from, onto, flags, true); }

template <Posix which> int d_fcntl(int descriptor, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void* argument = va_arg(arguments, void*);
    va_end(arguments);
    if (command != F_GETFD && command != F_SETFD && command != F_GETFL)
        write_out_all();
    const bool copies = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
    if ((command == F_SETFL || copies) && !stop_holding(descriptor))
        return -1;
    const int result = libc<int (*)(int, int, ...)>(which)(descriptor, command, argument);
    return copies ? noted_copy(result) : result;
}

void note_stream(FILE* stream, const char* mode) noexcept {
    const int flags = std::strchr(mode, '+') ? O_RDWR : *mode == 'r' ? O_RDONLY : O_WRONLY;
    const bool shared = note_opened(fileno(stream), {.flags = flags, .stream = stream});
    give_buffer(stream, mode, shared);
}

template <Posix which> FILE* d_fopen(const char* path, const char* mode) {
    write_out_all();
    FILE* stream = libc<FILE* (*)(const char*, const char*)>(which)(path, mode);
    if (stream)
        note_stream(stream, mode);
    return stream;
}

template <Posix which> FILE* d_freopen(const char* path, const char* mode, FILE* stream) {
    write_out_all();
    if (stream == stdout)
        end_stdout();
    note_closing(fileno(stream));
    const ClosedStream closed(stream);
    FILE* opened = libc<FILE* (*)(const char*, const char*, FILE*)>(which)(path, mode, stream);
    if (opened)
        note_stream(opened, mode);
    return opened;
}

FILE* d_fdopen(int descriptor, const char* mode) {
    if (!stop_holding(descriptor))
        return nullptr;
    return libc<FILE* (*)(int, const char*)>(Posix::fdopen)(descriptor, mode);
}

int d_fclose(FILE* stream) {
    if (stream == stdout)
        end_stdout();
    const bool written = note_closing(fileno(stream));
    const int error = errno;
    const ClosedStream closed(stream);
    const int result = libc<int (*)(FILE*)>(Posix::fclose)(stream);
    if (result != 0 || (written && closed.error == 0))
        return result;
    errno = written ? closed.error : error;
    return EOF;
}

int d_fflush(FILE* stream) {
    if (stream && stream == stdout && gathers_stdout())
        return flush_stdout_later();
    if (!stream) {
        write_out_all();
        write_out_stdout(Outgoing::due);
    }
    if (stream && !write_out(fileno(stream)))
        return EOF;
    return libc<int (*)(FILE*)>(Posix::fflush)(stream);
}

/// Called before bytes are added to a stream: bytes that were written to its descriptor come first.
void make_room_in(FILE* stream) noexcept {
    make_room();
    if (state.held_bytes.load(std::memory_order_relaxed) > 0)
        write_out(fileno(stream));
    write_out_before_streams();
}

/// A call that moves the position in a stream or asks for it: bytes of its descriptor come first.
template <Posix which, class Result, class... Arguments>
Result move_in(FILE* stream, Arguments... arguments) {
    write_out(fileno(stream));
    return libc<Result (*)(FILE*, Arguments...)>(which)(stream, arguments...);
}

template <Posix which> size_t d_fwrite(const void* from, size_t size, size_t count, FILE* stream) {
    make_room_in(stream);
    return libc<size_t (*)(const void*, size_t, size_t, FILE*)>(which)(from, size, count, stream);
}

template <Posix which> int d_fputs(const char* text, FILE* stream) {
    make_room_in(stream);
    return libc<int (*)(const char*, FILE*)>(which)(text, stream);
}

int d_setvbuf(FILE* stream, char* buffer, int mode, size_t size) {
    if (stream == stdout && gathers_stdout() && (mode == _IOFBF || mode == _IOLBF || mode == _IONBF)) {
        set_stdout_mode(mode, buffer ? size : 0);
        return 0;
    }
    note_own_buffer(stream);
    return libc<int (*)(FILE*, char*, int, size_t)>(Posix::setvbuf)(stream, buffer, mode, size);
}
void d_setbuffer(FILE* stream, char* buffer, size_t size) {
    d_setvbuf(stream, buffer, buffer ? _IOFBF : _IONBF, size);
}
void d_setbuf(FILE* stream, char* buffer) { d_setbuffer(stream, buffer, BUFSIZ); }
void d_setlinebuf(FILE* stream) { d_setvbuf(stream, nullptr, _IOLBF, 0); }

}  // namespace

void write_out_all() noexcept {
    if (state.held_bytes.load(std::memory_order_relaxed) == 0 && !any_stream_buffered())
        return;
    const int error = errno;
    {
        const Holding holding(Patience::briefly);
        if (holding.taken()) {
            write_out_files();
            write_out_streams();
        }
    }
    errno = error;
}

void* deferring_call(uint32_t at) noexcept {
#define MPIRIC_CALL(name, ...)                                                                               \
    case Posix::name:                                                                                        \
        return reinterpret_cast<void*>(__VA_ARGS__);
#define MPIRIC_CALLS(name, call, ...)                                                                        \
    MPIRIC_CALL(name, &call<Posix::name __VA_OPT__(, ) __VA_ARGS__>)                                         \
    MPIRIC_CALL(name##64, &call<Posix::name##64 __VA_OPT__(, ) __VA_ARGS__>)
    switch (Posix(at)) {
        MPIRIC_CALLS(open, d_open)
        MPIRIC_CALLS(openat, d_openat)
        MPIRIC_CALLS(creat, d_creat)
        MPIRIC_CALL(close, &d_close)
        MPIRIC_CALL(write, &d_write)
        MPIRIC_CALL(writev, &d_writev)
        MPIRIC_CALLS(lseek, after, off_t, off_t, int)
        MPIRIC_CALL(fsync, &after<Posix::fsync, int>)
        MPIRIC_CALL(fdatasync, &after<Posix::fdatasync, int>)
        MPIRIC_CALLS(ftruncate, after, int, off_t)
        MPIRIC_CALLS(pwrite, after, ssize_t, const void*, size_t, off_t)
        MPIRIC_CALLS(pwritev, after, ssize_t, const iovec*, int, off_t)
        MPIRIC_CALLS(fcntl, d_fcntl)
        MPIRIC_CALL(dup, &d_dup)
        MPIRIC_CALL(dup2, &d_dup2)
        MPIRIC_CALL(dup3, &d_dup3)
        MPIRIC_CALLS(fopen, d_fopen)
        MPIRIC_CALLS(freopen, d_freopen)
        MPIRIC_CALL(fdopen, &d_fdopen)
        MPIRIC_CALL(fclose, &d_fclose)
        MPIRIC_CALL(fflush, &d_fflush)
        MPIRIC_CALL(fseek, &move_in<Posix::fseek, int, long, int>)
        MPIRIC_CALLS(fseeko, move_in, int, off_t, int)
        MPIRIC_CALL(rewind, &move_in<Posix::rewind, void>)
        MPIRIC_CALLS(fsetpos, move_in, int, const void*)
        MPIRIC_CALL(ftell, &move_in<Posix::ftell, long>)
        MPIRIC_CALLS(ftello, move_in, off_t)
        MPIRIC_CALLS(fgetpos, move_in, int, void*)
        MPIRIC_CALL(fwrite, &d_fwrite<Posix::fwrite>)
        MPIRIC_CALL(fwrite_unlocked, &d_fwrite<Posix::fwrite_unlocked>)
        MPIRIC_CALL(fputs, &d_fputs<Posix::fputs>)
        MPIRIC_CALL(fputs_unlocked, &d_fputs<Posix::fputs_unlocked>)
        MPIRIC_CALL(setvbuf, &d_setvbuf)
        MPIRIC_CALL(setbuf, &d_setbuf)
        MPIRIC_CALL(setbuffer, &d_setbuffer)
        MPIRIC_CALL(setlinebuf, &d_setlinebuf)
    default:
        return nullptr;
    }
#undef MPIRIC_CALLS
#undef MPIRIC_CALL
}

}  // namespace mpiric::deferred
