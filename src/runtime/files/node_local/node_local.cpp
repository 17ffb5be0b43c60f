#include "files/node_local/node_local.hpp"

#include "base/say.hpp"
#include "files/last_words.hpp"
#include "files/node_local/calls.hpp"
#include "files/node_local/draining.hpp"
#include "files/node_local/settled.hpp"
#include "files/node_local/staged.hpp"
#include "files/posix.hpp"

#include <pthread.h>
#include <unistd.h>

namespace mpiric::files::node_local {
namespace {

constexpr bool leaves(Posix which) noexcept {
    switch (which) {
    case Posix::fork:
    case Posix::vfork:
    case Posix::close_range:
    case Posix::closefrom:
    case Posix::sync:
        return true;
    default:
        return leaves_program(which);
    }
}

constinit pid_t owner = 0;  ///< a child of vfork(2) shares memory with it, and has descriptors of its own

void begin_child() noexcept {
    begun = false;
    leave_to_parent();
}

[[gnu::destructor]] void at_exit() {
    if (begun)
        drain(Reach::all);
}

}  // namespace

bool wanted(const Options& options) noexcept { return *options.node_local; }

void begin(const Options& options) noexcept {
    if (begun || !wanted(options) || !begin_staging(options.node_local, options.local_dir))
        return;
    if (!begin_draining()) {
        say_once("no file is made on the node's disk: no thread can be started that brings it home");
        leave_to_parent();
        return;
    }
    begun = true;
    owner = getpid();
    lead_calls();
    at_deadly_signals(drain_before_death);
    pthread_atfork(nullptr, nullptr, begin_child);
}

bool passes(uint32_t at) noexcept { return begun && leaves(Posix(at)); }

void before_call(uint32_t at) noexcept {
    if (passes(at) && getpid() == owner)
        drain(Reach::open);
}

void before_end(bool aborts) noexcept {
    if (begun)
        drain(aborts ? Reach::all : Reach::closed);
}

}  // namespace mpiric::files::node_local
