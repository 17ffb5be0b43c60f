// The parts of calls that are the same for all rare functions and for all local ones.
#include "wrap/intercept.hpp"

#include <utility>

namespace mpiric::wrap {

RareCall::RareCall(Function function, void* caller, const void* frame) noexcept
    : function_(function), caller_(caller) {
    Thread& self = thread;
    const NextFunction& following = next_functions[static_cast<uint32_t>(function)];
    next_ = following.next;
    if (std::exchange(self.by_profiling_name, false)) {
        next_ = following.library;
        caller_ = self.caller;
    }
    if (nested(self))
        return;
    if (runtime.recording)
        use_ = Use::record;
    else if (armed.stage != Stage::off)
        use_ = Use::mark;
    else
        return;
    self.depth = 1;
    self.frame = frame;
    if (use_ == Use::record) {
        begin_ = ticks();
        entrance_.emplace(uint32_t(function), begin_, caller_);
        entrance_->enter();
    } else if (armed.stage == Stage::passed)
        steps::try_to_end();
}

LocalCall::LocalCall(Function function, const void* frame) noexcept {
    Thread& self = thread;
    const NextFunction& following = next_functions[static_cast<uint32_t>(function)];
    next_ = following.of(std::exchange(self.by_profiling_name, false));
    if (nested(self) || !runtime.recording)
        return;
    profile::Cell* cell = runtime.recorder.local(static_cast<uint32_t>(function));
    if (cell && runtime.recorder.count_local(*cell))
        timed_ = cell;
    is_outermost_ = timed_ || next_ != following.library;
    if (!is_outermost_)
        return;
    self.depth = 1;
    self.frame = frame;
    if (timed_)
        begin_ = ticks();
}

LocalCall::~LocalCall() {
    if (timed_)
        runtime.recorder.time_local(*timed_, ticks() - begin_);
    if (is_outermost_)
        thread.depth = 0;
}

void RareCall::on(MPI_Comm comm) noexcept {
    if (!entrance_)
        return;
    entrance_->on(comm);
    entrance_->enter();
}

void RareCall::on_window(MPI_Win window) noexcept {
    if (!entrance_)
        return;
    entrance_->on_window(window);
    entrance_->enter();
}

record::RareRecordedCall RareCall::recorded() noexcept {
    const uint64_t end = ticks();
    if (entrance_)
        entrance_->leave(false, end);
    return {uint32_t(function_), {end - begin_, end, 1}, 0, caller_};
}

bool RareCall::is_marked() const noexcept {
    if (use_ != Use::mark)
        return false;
    if (armed.stage == Stage::following)
        steps::follow_first_rank();
    return armed.stage != Stage::passed;
}

}  // namespace mpiric::wrap
