// One call of the program, for the recorder. Methods are named for the notes of spec/mpi/recording.toml.
#pragma once

#include "files/files.hpp"
#include "profile/context.hpp"
#include "record/receives.hpp"
#include "world/communicators.hpp"
#include "world/datatypes.hpp"

#include <cstdint>

namespace mpiric::record {

using profile::Elapsed;
using profile::Traffic;

struct RecordedCall : world::Volume {
    // A constructor: to begin an aggregate, compilers clear all of it first, by a string instruction.
    RecordedCall(uint32_t of_function, const Elapsed& time, uint64_t waited_before, void* caller) noexcept
        : function(of_function), elapsed(time), waited(waited_before), return_address(caller) {}

    uint32_t function;
    Elapsed elapsed;
    uint64_t waited;
    void* return_address;
    uint64_t bytes = 0;
    uint64_t room = 0;  ///< buffer size of receives that it posts: the message size is known on completion
    uint32_t communicator = profile::no_communicator;  ///< index in the record
    world::CommInfo* comm_info = nullptr;
    MPI_Comm comm{};
    const MPI_Request* posted = nullptr;  ///< requests among which are receives
    int posted_count = 0;

    [[gnu::always_inline]] void on(MPI_Comm on_comm) noexcept {
        comm = on_comm;
        remember(world::comm_info(on_comm));
    }
    void on_window(MPI_Win window) noexcept { remember(world::window_info(window)); }

    /// A new communicator or window is learnt at once: so that all ranks number them alike.
    void born(MPI_Comm fresh) noexcept { world::comm_info(fresh); }
    void born_window(MPI_Win fresh) noexcept { world::window_info(fresh); }
    void named(const char* name) noexcept;

    int32_t size() const noexcept { return comm_info ? comm_info->size : 0; }
    int32_t group() const noexcept { return comm_info ? comm_info->group : 0; }
    int32_t rank() const noexcept { return comm_info ? comm_info->rank : 0; }
    int32_t degree() const noexcept { return comm_info ? world::out_degree(*comm_info, comm) : 0; }

    [[gnu::always_inline]] void sent_to(int destination) noexcept { moved(Traffic::message, destination); }
    void put_to(int target) noexcept { moved(Traffic::put, target); }
    void got_from(int target) noexcept { moved(Traffic::get, target); }

    /// `bytes` is the room of a receive under way.
    [[gnu::always_inline]] void receives(const MPI_Request& request, int source) noexcept {
        if (source != MPI_PROC_NULL) {
            room = bytes;
            posted = &request;
            posted_count = 1;
        }
        bytes = 0;
    }

    void remembers(MPI_Request request, int destination) noexcept;
    void remembers_receive(MPI_Request request, int source) noexcept;
    void starts(int count, const MPI_Request requests[]) noexcept;

    /// Results and messages are looked at where marks are armed only.
    template <class Count> void result(const void*, Count, MPI_Datatype) noexcept {}
    template <class Count> void result_at(int, const void*, Count, MPI_Datatype) noexcept {}
    template <class Count> void message(const void*, Count, MPI_Datatype) noexcept {}

    void opened(MPI_File file, const char* name, MPI_Comm by, int mode) noexcept;
    void views(MPI_File file, MPI_Datatype elementary) noexcept;
    void reads(MPI_File file, world::FilePlace place) noexcept;
    void writes(MPI_File file, world::FilePlace place) noexcept;

    /// Hands the call to the recorder. Inlined, so that what is known of the function costs nothing and the
    /// call itself stays in registers; only what is rare needs it in memory.
    [[gnu::always_inline]] void note() const noexcept {
        profile::Cell* cell = runtime.recorder.latest(function, communicator, bytes + room);
        if (!cell || posted_count > 1) [[unlikely]] {
            const RecordedCall in_memory = *this;
            return in_memory.note_fully();
        }
        runtime.recorder.add(*cell, function, bytes, elapsed, waited);
        if (posted_count == 1)
            receive_posted(*posted, cell);
    }

    /// Counts the call among those whose function may count the program's steps.
    [[gnu::always_inline]] void note_pace() const noexcept {
        if (runtime.recorder.pace(reinterpret_cast<uint64_t>(return_address), function, communicator,
                                  elapsed.end)) [[unlikely]]
            note_place(return_address);
    }

  private:
    [[gnu::cold]] static void note_place(void* address) noexcept;
    [[gnu::cold]] void note_fully() const noexcept;
    void note_receives(profile::Cell* cell) const noexcept;
    void note_site() const noexcept;
    [[gnu::always_inline]] void remember(world::CommInfo* found) noexcept {
        comm_info = found;
        if (found)
            communicator = found->index;
    }
    [[gnu::always_inline]] void moved(Traffic kind, int rank) noexcept {
        if (rank == MPI_PROC_NULL)
            bytes = 0;
        else if (comm_info)
            runtime.recorder.traffic(kind, comm_info->world_rank(rank), bytes);
    }
};

/// A call of a function that is seldom called. Its notes are compiled once, out of line.
struct RareRecordedCall : RecordedCall {
    using RecordedCall::RecordedCall;

    // NOLINTNEXTLINE(bugprone-derived-method-shadowing-base-method): the notes are to call this one.
    [[gnu::noinline]] void on(MPI_Comm on_comm) noexcept { RecordedCall::on(on_comm); }
    template <std::integral... Factors>
    [[gnu::noinline]] static uint64_t payload(MPI_Datatype type, Factors... factors) noexcept {
        return world::payload(type, factors...);
    }
    void note_apart() const noexcept;
};

/// Waits in a barrier before a blocking collective; returns the ticks that it took.
uint64_t wait_for_others(MPI_Comm comm) noexcept;

/// Looks whether the message of a receive about to be posted is already there.
void look(int source, int tag, MPI_Comm comm) noexcept;

}  // namespace mpiric::record
