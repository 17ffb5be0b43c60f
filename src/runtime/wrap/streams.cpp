#include "wrap/streams.hpp"

#include "layouts/layouts.hpp"
#include "wrap/watched.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>

namespace mpiric::wrap {
namespace {

using namespace files;
using layouts::lay_out;

/// The flags of open(2) for a mode of fopen(3).
int flags_of(const char* mode) noexcept {
    const bool both = std::strchr(mode, '+') != nullptr;
    if (*mode == 'r')
        return both ? O_RDWR : O_RDONLY;
    const int exclusive = std::strchr(mode, 'x') ? O_EXCL : 0;
    return (both ? O_RDWR : O_WRONLY) | O_CREAT | exclusive | (*mode == 'a' ? O_APPEND : O_TRUNC);
}

template <Posix which> FILE* open_stream(const char* path, const char* mode) {
    return watched(
        [&] {
            const int flags = flags_of(mode);
            char without[16] = "";
            if (lay_out(AT_FDCWD, path, flags, 0666) != flags && std::strlen(mode) < sizeof without) {
                std::remove_copy(mode, mode + std::strlen(mode), without, 'x');
                return real<FILE* (*)(const char*, const char*)>(which)(path, without);
            }
            return real<FILE* (*)(const char*, const char*)>(which)(path, mode);
        },
        [&](FILE* stream, uint64_t took) {
            if (stream)
                descriptor_opened(fileno(stream), path, flags_of(mode), took);
        });
}

void stream_wrote(FILE* stream, int64_t bytes, uint64_t took, bool line) noexcept {
    descriptor_wrote(fileno(stream), {bytes, -1, took, true, line});
}

int print(FILE* stream, const char* format, va_list arguments) {
    return watched(
        [&] {
            return real<int (*)(FILE*, const char*, va_list)>(Posix::vfprintf)(stream, format, arguments);
        },
        [&](int put, uint64_t took) { stream_wrote(stream, put, took, ends_line(format)); });
}

}  // namespace

FILE* w_fopen(const char* path, const char* mode) { return open_stream<Posix::fopen>(path, mode); }
FILE* w_fopen64(const char* path, const char* mode) { return open_stream<Posix::fopen64>(path, mode); }

int w_fflush(FILE* stream) {
    return watched([&] { return real<int (*)(FILE*)>(Posix::fflush)(stream); },
                   [&](int, uint64_t took) {
                       if (stream)
                           descriptor_flushed(fileno(stream), took);
                   });
}

int w_fclose(FILE* stream) {
    const int descriptor = stream && counts(thread) ? fileno(stream) : -1;
    return watched([&] { return real<int (*)(FILE*)>(Posix::fclose)(stream); },
                   [&](int, uint64_t took) { descriptor_closed(descriptor, took); });
}

size_t w_fread(void* to, size_t size, size_t count, FILE* stream) {
    return watched(
        [&] { return real<size_t (*)(void*, size_t, size_t, FILE*)>(Posix::fread)(to, size, count, stream); },
        [&](size_t got, uint64_t took) {
            descriptor_read(fileno(stream), {int64_t(got * size), -1, took, true});
        });
}

size_t w_fwrite(const void* from, size_t size, size_t count, FILE* stream) {
    return watched(
        [&] {
            return real<size_t (*)(const void*, size_t, size_t, FILE*)>(Posix::fwrite)(from, size, count,
                                                                                       stream);
        },
        [&](size_t put, uint64_t took) {
            const auto bytes = int64_t(put * size);
            stream_wrote(stream, bytes, took, bytes > 0 && ends_line(from, bytes));
        });
}

int w_fputs(const char* text, FILE* stream) {
    return watched([&] { return real<int (*)(const char*, FILE*)>(Posix::fputs)(text, stream); },
                   [&](int result, uint64_t took) {
                       if (result >= 0)
                           stream_wrote(stream, int64_t(std::strlen(text)), took, ends_line(text));
                   });
}

int w_puts(const char* text) {
    return watched([&] { return real<int (*)(const char*)>(Posix::puts)(text); },
                   [&](int result, uint64_t took) {
                       if (result >= 0)
                           stream_wrote(stdout, int64_t(std::strlen(text)) + 1, took, true);
                   });
}

int w_printf(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int put = print(stdout, format, arguments);
    va_end(arguments);
    return put;
}
int w_fprintf(FILE* stream, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int put = print(stream, format, arguments);
    va_end(arguments);
    return put;
}
int w_vprintf(const char* format, va_list arguments) { return print(stdout, format, arguments); }
int w_vfprintf(FILE* stream, const char* format, va_list arguments) {
    return print(stream, format, arguments);
}

}  // namespace mpiric::wrap
