#include "files/deferred/last_words.hpp"

#include "files/deferred/holding.hpp"

#include <cerrno>
#include <csignal>
#include <initializer_list>

namespace mpiric::files::deferred {
namespace {

constexpr int most_signals = 65;
constinit struct sigaction before[most_signals]{};
using LastWords = void (*)();
constinit LastWords last_words = nullptr;

/// What was there before answers the signal: at once where it is a fault, which happens again, else when it
/// is sent anew.
void answer(int signal, siginfo_t* info, void*) {
    const int error = errno;
    last_words();
    sigaction(signal, &before[signal], nullptr);
    const bool happens_again = info && info->si_code > 0 && info->si_code != SI_KERNEL && signal != SIGABRT;
    if (!happens_again || signal == SIGXCPU)
        libc<int (*)(int)>(Posix::raise)(signal);
    errno = error;
}

}  // namespace

void write_out_at_signals(void (*write_out)()) noexcept {
    last_words = write_out;
    for (const int signal :
         {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGXCPU, SIGSYS}) {
        struct sigaction ours{};
        ours.sa_sigaction = answer;
        ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigfillset(&ours.sa_mask);
        if (sigaction(signal, nullptr, &before[signal]) == 0 && before[signal].sa_handler != SIG_IGN)
            sigaction(signal, &ours, nullptr);
    }
}

}  // namespace mpiric::files::deferred
