#include "deferred/deferred.hpp"

#include "base/say.hpp"
#include "deferred/calls.hpp"
#include "deferred/gathered_stdout.hpp"
#include "deferred/holding.hpp"
#include "deferred/last_words.hpp"
#include "deferred/lateness.hpp"
#include "deferred/stream_buffers.hpp"
#include "deferred/write_behind.hpp"

#include <pthread.h>

namespace mpiric::deferred {
namespace {

constexpr size_t kib = 1024;

/// Effect of a libc call on the held output.
enum class Passing : uint8_t {
    straight,
    prints,  ///< into a stream: there must be room
    shows,   ///< the content, the size or the times of a file to somebody
    leaves,  ///< this program, or begins another one
    forks,
    closes  ///< descriptors without naming each
};

constexpr Passing passing(Posix which) noexcept {
    switch (which) {
    case Posix::printf:
    case Posix::fprintf:
    case Posix::vprintf:
    case Posix::vfprintf:
    case Posix::puts:
    case Posix::putchar:
    case Posix::putc:
    case Posix::fputc:
    case Posix::putchar_unlocked:
    case Posix::putc_unlocked:
    case Posix::fputc_unlocked:
    case Posix::__printf_chk:
    case Posix::__fprintf_chk:
    case Posix::__vprintf_chk:
    case Posix::__vfprintf_chk:
    case Posix::fputws:
    case Posix::putwchar:
    case Posix::fputwc:
    case Posix::wprintf:
    case Posix::fwprintf:
    case Posix::vfwprintf:
        return Passing::prints;
    case Posix::stat:
    case Posix::stat64:
    case Posix::lstat:
    case Posix::lstat64:
    case Posix::fstat:
    case Posix::fstat64:
    case Posix::statx:
    case Posix::__xstat:
    case Posix::__xstat64:
    case Posix::__lxstat:
    case Posix::__lxstat64:
    case Posix::__fxstat:
    case Posix::__fxstat64:
    case Posix::unlink:
    case Posix::rename:
    case Posix::mkdir:
    case Posix::access:
    case Posix::flock:
        return Passing::shows;
    case Posix::fork:
    case Posix::vfork:
        return Passing::forks;
    case Posix::raise:
    case Posix::kill:
    case Posix::dprintf:
    case Posix::vdprintf:
    case Posix::__dprintf_chk:
    case Posix::__vdprintf_chk:
    case Posix::__fpurge:
        return Passing::leaves;
    case Posix::close_range:
    case Posix::closefrom:
        return Passing::closes;
    default:
        if (leaves_program(which))
            return Passing::leaves;
        return is_watched(which) ? Passing::straight : Passing::shows;
    }
}

void write_out_late() noexcept {
    write_out_all();
    write_out_stdout(Outgoing::due);
}

void write_out_at_end() noexcept {
    write_out_all();
    write_out_stdout_at_end();
}

[[gnu::destructor]] void at_exit() {
    if (!state.begun || state.of_child)
        return;
    write_out_late();
    end_stdout();
    if (state.held_bytes.load(std::memory_order_relaxed) > 0)
        say_once("the last output to a file is lost: it could not be written, and the file was not closed");
}

void begin_child() noexcept {
    state.of_child = true;
    forget_descriptors();
    leave_stdout_to_child();
}

}  // namespace

bool wanted(const Options& options) noexcept {
    return options.stdout_kib > 0 || options.stdio_kib > 0 || options.write_behind_kib > 0;
}

void begin(const Options& options) noexcept {
    if (state.begun || !wanted(options))
        return;
    if (!begin_lateness(options.late_ms, write_out_late)) {
        say_once("output is not held back: no thread can be started that bounds how late it is");
        return;
    }
    state.begun = true;
    begin_write_behind(options.write_behind_kib * kib);
    begin_stream_buffers(options.stdio_kib * kib);
    if (options.stdout_kib > 0)
        begin_stdout(options.stdout_kib * kib);
    at_deadly_signals(write_out_at_end);
    pthread_atfork(nullptr, nullptr, begin_child);
    for (uint32_t at = 0; at < posix_count; ++at)
        if (void* call = deferring_call(at))
            set_next_posix(at, call);
}

bool passes(uint32_t at) noexcept {
    return state.begun && !deferring_call(at) && passing(Posix(at)) != Passing::straight;
}

void before_call(uint32_t at) noexcept {
    if (!state.begun || state.of_child)
        return;
    switch (passing(Posix(at))) {
    case Passing::prints:
        make_room();
        write_out_before_streams();
        break;
    case Passing::leaves:
        write_out_late();
        break;
    case Passing::forks:
        write_out_late();
        stop_holding_all();
        break;
    case Passing::closes:
        write_out_late();
        end_stdout();
        forget_descriptors();
        break;
    case Passing::shows:
        write_out_all();
        break;
    case Passing::straight:
        break;
    }
}

void before_mpi(bool ends) noexcept {
    if (!state.begun || state.of_child)
        return;
    write_out_all();
    if (ends)
        write_out_stdout(Outgoing::due);
}

}  // namespace mpiric::deferred
