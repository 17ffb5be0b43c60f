#include "deferred/deferred.hpp"

#include "base/say.hpp"

#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <pthread.h>

namespace mpiric::deferred {
namespace {

constexpr size_t kib = 1024;

constexpr Effect effect_of(uint32_t at) noexcept { return posix_traits[at].effect; }

void write_out_late() noexcept {
    write_out_all();
    write_out_stdout(Outgoing::due);
}

void write_out_at_end() noexcept {
    write_out_all();
    write_out_stdout_at_end();
}

/// The previous handler answers the signal: immediately if it is a fault, which happens again, else when the
/// signal is sent again.
void answer(int signal, siginfo_t* info, void*) {
    const int error = errno;
    write_out_at_end();
    sigaction(signal, &state.before[signal], nullptr);
    const bool happens_again = info && info->si_code > 0 && info->si_code != SI_KERNEL && signal != SIGABRT;
    if (!happens_again || signal == SIGXCPU)
        libc<int (*)(int)>(Posix::raise)(signal);
    errno = error;
}

/// Has held output written before a signal ends the process, in its handler.
void write_out_at_deadly_signals() noexcept {
    for (const int signal :
         {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGXCPU, SIGSYS}) {
        struct sigaction ours{};
        ours.sa_sigaction = answer;
        ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigfillset(&ours.sa_mask);
        struct sigaction& before = state.before[signal];
        if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(signal, &ours, nullptr);
    }
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
    write_out_at_deadly_signals();
    pthread_atfork(nullptr, nullptr, begin_child);
    for (uint32_t at = 0; at < posix_count; ++at)
        if (void* call = deferring_call(at))
            set_next_posix(at, call);
}

bool passes(uint32_t at) noexcept {
    return state.begun && !deferring_call(at) && effect_of(at) != Effect::none;
}

void before_call(uint32_t at) noexcept {
    if (!state.begun || state.of_child)
        return;
    switch (effect_of(at)) {
    case Effect::prints:
        make_room();
        write_out_before_streams();
        break;
    case Effect::leaves:
        write_out_late();
        break;
    case Effect::forks:
        write_out_late();
        stop_holding_all();
        break;
    case Effect::closes:
        write_out_late();
        end_stdout();
        forget_descriptors();
        break;
    case Effect::shows:
        write_out_all();
        break;
    case Effect::none:
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
