// A call at its entrance, shown in the record until it returns: the reason why a rank does not return.
#pragma once

#include "profile/context.hpp"
#include "world/datatypes.hpp"

#include <algorithm>
#include <concepts>
#include <cstdint>

namespace mpiric::record {

using profile::Known;

/// Only handles and numbers are stored: asking the library about them would cost more than the call, and may
/// be an error before it has accepted them.
class Entrance {
  public:
    [[gnu::always_inline]] Entrance(uint32_t function, uint64_t begin, const void* address) noexcept
        : call_(runtime.recorder.entered(of_another_thread_)) {
        call_.entered_ticks = begin;
        call_.address = reinterpret_cast<uint64_t>(address);
        call_.function = function;
    }

    [[gnu::always_inline]] void on(MPI_Comm comm) noexcept { on_handle(world::number(comm)); }
    [[gnu::always_inline]] void on_window(MPI_Win window) noexcept { on_handle(world::number(window)); }
    [[gnu::always_inline]] void with(int peer) noexcept {
        call_.peer = peer;
        knows(Known::peer);
    }
    [[gnu::always_inline]] void tagged(int tag) noexcept {
        call_.tag = tag;
        knows(Known::tag);
    }
    /// The rank that a send-receive receives from.
    [[gnu::always_inline]] void from(int source) noexcept {
        call_.other = uint64_t(int64_t(source));
        knows(Known::source);
    }
    template <std::integral Count>
    [[gnu::always_inline]] void moves(Count count, MPI_Datatype type) noexcept {
        call_.count = uint64_t(count);
        call_.datatype = world::number(type);
        knows(Known::amount);
    }
    [[gnu::always_inline]] void starts(const MPI_Request* request) noexcept { started_ = request; }
    [[gnu::always_inline]] void waits_for(int count, const MPI_Request requests[]) noexcept {
        call_.count = uint64_t(int64_t(count));
        uint64_t* const to[] = {&call_.other, &call_.communicator, &call_.datatype};
        for (int at = 0; requests && at < 3 && at < count; ++at)
            *to[at] = world::number(requests[at]);
        knows(Known::requests);
    }

    [[gnu::always_inline]] void enter() noexcept { call_.known = known_ | uint32_t(Known::in_flight); }
    [[gnu::always_inline]] void leave(bool succeeded, uint64_t end) noexcept {
        runtime.recorder.returned(end);
        if (started_ && succeeded) {
            call_.known = known_ | uint32_t(Known::request);
            runtime.recorder.keep(call_, world::number(*started_));
        } else {
            call_.known = known_;
        }
    }

  private:
    [[gnu::always_inline]] void knows(Known what) noexcept { known_ |= uint32_t(what); }
    [[gnu::always_inline]] void on_handle(uint64_t handle) noexcept {
        call_.communicator = handle;
        knows(Known::communicator);
    }

    profile::Call of_another_thread_;  ///< not shown
    profile::Call& call_;
    const MPI_Request* started_ = nullptr;
    uint32_t known_ = 0;  ///< a constant once the wrapper is inlined
};

}  // namespace mpiric::record
