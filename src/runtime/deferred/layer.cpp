// The layer that holds output back: output that the program has written and this process still holds, the
// same bytes in the same order, visible later. Steps:
//   1. Once MPI is initialised, begin() gives stdout, new stdio streams and small writes buffers.
//   2. Names of libc and MPI that could show or need what is held lead through before_call() and
//      before_mpi(), which write it out first.
//   3. Nothing is held longer than `late_ms`, whatever the program does meanwhile.
// When the process is killed, at most the contents of the buffers are lost. A descriptor that is sent to
// another process through a socket, and memory shared between processes as a sign that a file is ready, are
// not seen; step 3 bounds both.
#include "deferred/deferred.hpp"

#include "base/say.hpp"
#include "profile/context.hpp"
#include "symbols/switchboard.hpp"

#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <pthread.h>

namespace mpiric::deferred {
namespace {

constexpr size_t kib = 1024;

constexpr Effect effect_of(Posix name) noexcept { return posix_traits[uint32_t(name)].effect; }

void write_out_late() noexcept {
    write_out_all();
    write_out_stdout(Outgoing::due);
}

void write_out_at_end() noexcept {
    write_out_all();
    write_out_stdout_at_end();
}

/// The previous handler answers the signal: at once if it is a fault, else when it is sent again.
void on_deadly_signal(int signal, siginfo_t* info, void*) {
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
        ours.sa_sigaction = on_deadly_signal;
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

bool wanted(const Options& options) noexcept {
    return options.stdout_kib > 0 || options.stdio_kib > 0 || options.write_behind_kib > 0;
}

void begin(ProgramWorld&) noexcept {
    const Options& options = runtime.options;
    if (state.begun)
        return;
    if (!begin_lateness(options.late_ms, write_out_late)) {
        say_once("output is not held back: no thread can be started that bounds how late it is");
        return;
    }
    state.begun = true;
    begin_write_behind(options.write_behind_kib * kib);
    state.stream_capacity = options.stdio_kib * kib;
    if (options.stdout_kib > 0)
        begin_stdout(options.stdout_kib * kib);
    write_out_at_deadly_signals();
    pthread_atfork(nullptr, nullptr, begin_child);
    for (uint32_t at = 0; at < posix_count; ++at)
        if (void* call = deferring_call(at))
            set_next_posix(at, call);
    symbols::interest_changed();
}

/// Whether calls by a name of libc pass before_call().
Interest posix_interest(Posix name) noexcept {
    const bool passes = state.begun && !deferring_call(uint32_t(name)) && effect_of(name) != Effect::none;
    return passes ? Interest::before : Interest::none;
}

void before_call(Posix name) noexcept {
    if (!state.begun || state.of_child)
        return;
    switch (effect_of(name)) {
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

Interest interest(symbols::Function function) noexcept {
    return symbols::family_of(function) == symbols::Family::local ? Interest::none : Interest::before;
}

/// Before a call of MPI that may tell another rank of output.
void before_mpi(symbols::Function function) noexcept {
    using enum symbols::Function;
    if (!state.begun || state.of_child)
        return;
    write_out_all();
    if (function == MPI_Finalize || function == MPI_Session_finalize || function == MPI_Abort)
        write_out_stdout(Outgoing::due);
}

}  // namespace

extern constinit const Layer layer_deferred_output;
constinit const Layer layer_deferred_output{
    .name = "deferred output",
    .enabled = wanted,
    .interest = interest,
    .before = before_mpi,
    .posix_interest = posix_interest,
    .before_posix = before_call,
    .on_init = begin,
};

}  // namespace mpiric::deferred
