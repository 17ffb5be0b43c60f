#include "deferred/last_words.hpp"

#include "posix/posix.hpp"

#include <cerrno>
#include <csignal>
#include <initializer_list>

namespace mpiric::deferred {
namespace {

constexpr int most_signals = 65, most_words = 2;
constinit struct sigaction before[most_signals]{};
using LastWords = void (*)();
constinit LastWords last_words[most_words]{};
constinit int words = 0;

/// What was there before answers the signal: at once where it is a fault, which happens again, else when it
/// is sent anew.
void answer(int signal, siginfo_t* info, void*) {
    const int error = errno;
    for (int at = words; at > 0; --at)
        last_words[at - 1]();
    sigaction(signal, &before[signal], nullptr);
    const bool happens_again = info && info->si_code > 0 && info->si_code != SI_KERNEL && signal != SIGABRT;
    if (!happens_again || signal == SIGXCPU)
        reinterpret_cast<int (*)(int)>(libc_posix(uint32_t(Posix::raise)))(signal);
    errno = error;
}

}  // namespace

void at_deadly_signals(void (*write_out)()) noexcept {
    if (words == most_words)
        return;
    last_words[words] = write_out;
    if (++words > 1)
        return;
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

}  // namespace mpiric::deferred
