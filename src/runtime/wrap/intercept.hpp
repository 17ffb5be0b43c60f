// The body of every wrapper: enter → call → leave.
#pragma once

#include "base/thread.hpp"
#include "profile/context.hpp"
#include "record/call.hpp"
#include "record/entrance.hpp"
#include "steps/armed.hpp"
#include "symbols/next.hpp"
#include "world/requests.hpp"

#include <optional>
#include <processor.hpp>
#include <type_traits>

namespace mpiric::wrap {

using record::RecordedCall;
using steps::armed;
using steps::MarkedCall;
using steps::Stage;
using symbols::Function;
using symbols::next_functions;
using symbols::NextFunction;

/// When a function reads the clock. A polled one does once in 17 calls: a prime, so that a loop of several
/// does not keep hitting the same. A synchronising one may wait for the others before it does. A rare one
/// always does, and is small instead of fast. A counted one, or one by hand, does as its wrapper says.
enum class Timing : uint8_t { always, polled, synchronising, rare, counted, by_hand };

/// One in this many calls of a polled function is timed.
inline constexpr uint32_t polled_in_turn = 17;

constexpr uint32_t weight(Timing timing) noexcept { return timing == Timing::polled ? polled_in_turn : 1; }

/// Whether this call is timed.
template <Timing timing> bool takes_time(Thread& self) noexcept {
    if constexpr (timing == Timing::polled) {
        if (self.turns_left > 0) {
            --self.turns_left;
            return false;
        }
        self.turns_left = polled_in_turn - 1;
    }
    return true;
}

/// Of a call nothing but its function is known at its entrance.
struct NothingKnown {
    void operator()(record::Entrance&) const noexcept {}
};

template <class Result> bool succeeded(const Result& result) noexcept {
    if constexpr (std::is_same_v<Result, int>)
        return result == MPI_SUCCESS;
    return true;
}

/// The body where nothing is recorded: up to the last mark calls are counted, past it they try to end the
/// run. Where rank 0 alone counts, calls of the other ranks check whether it has passed the last mark.
template <Function function, class Pointer, class Do, class Tell>
[[gnu::always_inline]] inline auto mark(Thread& self, void* caller, Pointer next, Do&& call_next,
                                        Tell&& tell) {
    const Outermost inside(self);
    if (armed.stage == Stage::passed) [[unlikely]]
        steps::try_to_end();
    auto result = call_next(next);
    if constexpr (!symbols::counts_steps(function))
        if (armed.stage == Stage::following) [[unlikely]]
            steps::follow_first_rank();
    if constexpr (symbols::watched_by_marks(function)) {
        if (armed.stage == Stage::passed || !succeeded(result)) [[unlikely]]
            return result;
        MarkedCall call(static_cast<uint32_t>(function), caller);
        tell(call);
        if constexpr (symbols::counts_steps(function))
            call.template note<function>();
    }
    return result;
}

/// Counts a send up to the last mark before it is made, and leaves nothing to do after it; false where it
/// may be the mark, or come from several threads, a tool or a wrapper, or where its size is not known yet.
template <Function function, class Tell> [[gnu::always_inline]] inline bool counts_ahead(Tell&& tell) {
    if (armed.stage != Stage::counting) [[likely]]
        return false;
    const NextFunction& following = next_functions[static_cast<uint32_t>(function)];
    if (armed.function == uint16_t(function) || !thread.is_outside() || following.next != following.library)
        return false;
    steps::SendAhead send;
    tell(send);
    if (send.is_known)
        armed.marks.count_send(send.bytes);
    return send.is_known;
}

template <Function function, class Pointer> [[gnu::always_inline]] inline Pointer next_of() noexcept {
    return reinterpret_cast<Pointer>(next_functions[static_cast<uint32_t>(function)].next);
}

/// `enter` notes arguments at the entrance, `tell` notes a successful call.
template <Function function, Timing timing, class Pointer, class Do, class Tell, class Enter = NothingKnown>
[[gnu::always_inline]] inline auto intercept(Do&& call_next, Tell&& tell, Enter&& enter = {}) {
    Thread& self = thread;
    const NextFunction& following = next_functions[static_cast<uint32_t>(function)];
    auto* next = reinterpret_cast<Pointer>(following.next);
    void* caller = __builtin_return_address(0);
    if (self.by_profiling_name) [[unlikely]] {
        self.by_profiling_name = false;
        next = reinterpret_cast<Pointer>(following.library);
        caller = self.caller;
    }
    if (nested(self) || (!runtime.recording && armed.stage == Stage::off)) [[unlikely]]
        return call_next(next);
    if (!runtime.recording) [[unlikely]]
        return mark<function>(self, caller, next, call_next, tell);
    const Outermost inside(self);
    const bool timed = takes_time<timing>(self);
    uint64_t waited = 0;
    if constexpr (timing == Timing::synchronising)
        waited = self.waited;
    const uint64_t begin = timed ? ticks() : 0;
    std::optional<record::Entrance> entrance;
    if constexpr (timing != Timing::polled) {
        entrance.emplace(static_cast<uint32_t>(function), begin, caller);
        enter(*entrance);
        entrance->enter();
    }
    auto result = call_next(next);
    const uint64_t end = timed ? ticks() : 0;
    if constexpr (timing == Timing::polled)
        runtime.recorder.polled(static_cast<uint32_t>(function), end);
    else
        entrance->leave(succeeded(result), end);
    RecordedCall call(static_cast<uint32_t>(function), {end - begin, end, timed ? weight(timing) : 0}, waited,
                      caller);
    if (succeeded(result)) [[likely]]
        tell(call);
    call.note();
    if constexpr (symbols::counts_steps(function))
        call.note_pace();
    return result;
}

/// The part of a call of a rare function that is the same for all of them, and compiled once.
class RareCall {
  public:
    /// Decides what the call is used for. `frame` is the wrapper's.
    RareCall(Function function, void* caller, const void* frame) noexcept;
    ~RareCall() {
        if (use_ != Use::none)
            thread.depth = 0;
    }
    RareCall(const RareCall&) = delete;
    RareCall& operator=(const RareCall&) = delete;

    void* next() const noexcept { return next_; }
    void on(MPI_Comm comm) noexcept;
    void on_window(MPI_Win window) noexcept;
    bool is_recorded() const noexcept { return use_ == Use::record; }
    /// To be asked after the call.
    bool is_marked() const noexcept;
    /// The call, which has just returned.
    record::RareRecordedCall recorded() noexcept;
    steps::MarkedCall marked() const noexcept { return {uint32_t(function_), caller_}; }

  private:
    enum class Use : uint8_t { none, record, mark };
    Function function_;
    Use use_ = Use::none;
    void* next_;
    void* caller_;
    std::optional<record::Entrance> entrance_;
    uint64_t begin_ = 0;
};

template <Function function, class Pointer, class Do, class Tell, class Enter>
[[gnu::always_inline]] inline auto intercept_rare(Do&& call_next, Tell&& tell, Enter&& enter) {
    static_assert(symbols::watched_by_marks(function) && !symbols::counts_steps(function));
    RareCall rare(function, __builtin_return_address(0), __builtin_frame_address(0));
    enter(rare);
    auto result = call_next(reinterpret_cast<Pointer>(rare.next()));
    if (rare.is_recorded()) {
        record::RareRecordedCall call = rare.recorded();
        if (succeeded(result))
            tell(call);
        call.note_apart();
    } else if (rare.is_marked() && succeeded(result)) {
        MarkedCall call = rare.marked();
        tell(call);
    }
    return result;
}

/// Counts a call of a cheap local function and leaves nothing else to do. False for the others: few are
/// timed, and some come from a tool, a wrapper or one of several threads.
template <Function function> [[gnu::always_inline]] inline bool counts_at_once() noexcept {
    const NextFunction& following = next_functions[static_cast<uint32_t>(function)];
    return runtime.recording && thread.is_outside() && following.next == following.library &&
           runtime.recorder.counts_at_once(static_cast<uint32_t>(function));
}

/// Such another call, the same for all local functions, and compiled once. Nested calls matter only where
/// another tool follows, which goes on by the PMPI_ name.
class LocalCall {
  public:
    LocalCall(Function function, const void* frame) noexcept;
    ~LocalCall();
    LocalCall(const LocalCall&) = delete;
    LocalCall& operator=(const LocalCall&) = delete;

    void* next() const noexcept { return next_; }

  private:
    void* next_;
    bool is_outermost_ = false;
    profile::Cell* timed_ = nullptr;
    uint64_t begin_ = 0;
};

/// Before a blocking collective: waits for the others apart from the call, when imbalance is asked for.
inline void arrive(MPI_Comm comm) noexcept {
    if (!runtime.options.imbalance) [[likely]]
        return;
    Thread& self = thread;
    if (nested(self) || !runtime.recording)
        return;
    const Outermost inside(self);
    self.waited = record::wait_for_others(comm);
}

/// Called before a receive is posted: one in `unexpected` checks whether its message has already arrived.
inline void posts(int source, int tag, MPI_Comm comm) noexcept {
    Thread& self = thread;
    if (++self.receive_turn < runtime.options.unexpected) [[likely]]
        return;
    self.receive_turn = 0;
    if (nested(self) || !runtime.recording || runtime.options.unexpected == 0)
        return;
    const Outermost inside(self);
    record::look(source, tag, comm);
}

/// Before persistent requests are started, at any depth, recorded or not.
inline void starting(int count, const MPI_Request requests[]) noexcept {
    for (int at = 0; world::requests_watched() && at < count; ++at)
        world::requests.watched.started(requests[at]);
}

}  // namespace mpiric::wrap
