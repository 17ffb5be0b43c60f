#include "deferred/last_words.hpp"

#include "deferred/state.hpp"
#include "posix/posix.hpp"

#include <cerrno>
#include <csignal>
#include <initializer_list>

namespace mpiric::deferred {
namespace {

/// The previous handler answers the signal: immediately if it is a fault, which happens again, else when the
/// signal is sent again.
void answer(int signal, siginfo_t* info, void*) {
    const int error = errno;
    state.last_words();
    sigaction(signal, &state.before[signal], nullptr);
    const bool happens_again = info && info->si_code > 0 && info->si_code != SI_KERNEL && signal != SIGABRT;
    if (!happens_again || signal == SIGXCPU)
        reinterpret_cast<int (*)(int)>(libc_posix(uint32_t(Posix::raise)))(signal);
    errno = error;
}

}  // namespace

void at_deadly_signals(void (*write_out)()) noexcept {
    state.last_words = write_out;
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

}  // namespace mpiric::deferred
