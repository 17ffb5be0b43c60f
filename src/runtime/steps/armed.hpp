// A run whose marks are armed: counts of its wrappers up to the last mark, and its end there.
#pragma once

#include "marks/marks.hpp"
#include "symbols/next.hpp"
#include "world/communicators.hpp"
#include "world/datatypes.hpp"

#include <cstdint>

namespace mpiric::steps {

enum class Stage : uint8_t {
    off,                 ///< nothing is counted: not armed, or past the last mark
    counting,            ///< up to the last mark
    counting_carefully,  ///< the same where several threads may call, or in the step before the mark
    following,           ///< counting, until rank 0 has passed the last mark
    passed               ///< past it: the run ends when all ranks are
};

struct Armed {
    Stage stage = Stage::off;
    bool in_last_step = false;  ///< before the last mark: messages are digested
    uint16_t function = 0;      ///< function of the mark
    marks::Marks marks;
    uint64_t begin_unix_ns = 0, init_entered_ns = 0;
    char mark_text[sizeof(marks::Head::mark)] = "";
    bool finalising = false;
    bool watches_everything = false;

    bool counts() const noexcept { return stage == Stage::counting || stage == Stage::counting_carefully; }
    bool digests() const noexcept { return counts() || stage == Stage::following; }
};
inline constinit Armed armed;

/// Has every function of MPI that is more than local lead to its wrapper, from here on.
void watch_everything() noexcept;

// How a run ends at its last mark: every rank writes out what it holds, and when all have, rank 0 aborts.

/// This rank is past the last mark. Where the run ends there it writes out what is buffered, tells rank 0,
/// and has every function of MPI ask whether all ranks have told.
void pass_last_mark() noexcept;

/// Asks now and then whether rank 0 has passed the last mark; passes it then.
void follow_first_rank() noexcept;

/// Makes the communicator and requests that ending needs, collectively over the world; `counts`: this rank
/// counts the mark's calls. False when the communicator cannot be made.
bool prepare_ending(bool counts) noexcept;

/// Tells rank 0, at MPI_Finalize, that this rank will not come to the last mark any more, and completes what
/// is under way; collective if prepare_ending() was.
void finish_ending() noexcept;

/// Whether the driver of an accelerator is loaded, so that results may be in its memory.
bool results_may_be_elsewhere() noexcept;

/// Past the last mark: asks, without waiting, whether all ranks are, and ends the run then.
void try_to_end() noexcept;

/// A send of which only the bytes matter, before it is made: if its type is not the type of the last send,
/// the size is unknown.
struct SendAhead {
    uint64_t bytes = 0;
    bool is_known = true;

    template <class... Factors>
    [[gnu::always_inline]] uint64_t payload(MPI_Datatype type, Factors... factors) noexcept {
        if (((factors <= 0) || ...))
            return 0;
        is_known = world::caches.latest_size.handle == world::number(type);
        return (uint64_t(factors) * ...) * world::caches.latest_size.bytes;
    }
    void on(MPI_Comm) noexcept {}
    [[gnu::always_inline]] void sent_to(int destination) noexcept {
        if (destination == MPI_PROC_NULL)
            bytes = 0;
    }
    template <class Count> void message(const void*, Count, MPI_Datatype) noexcept {}
};

/// One call of the program, for the counts and digests up to the last mark. It takes the same notes as
/// RecordedCall; most of them matter to a record only.
struct MarkedCall : world::Volume {
    MarkedCall(uint32_t of_function, void* caller) noexcept : function(of_function), return_address(caller) {}

    uint32_t function;
    void* return_address;
    uint64_t bytes = 0;
    MPI_Comm comm{};
    bool has_comm = false;
    uint32_t started_on = marks::Marks::no_communicator;  ///< communicator of a persistent request

    template <std::integral... Factors>
    [[gnu::always_inline]] uint64_t payload(MPI_Datatype type, Factors... factors) const noexcept {
        const uint64_t size = world::payload(type, factors...);
        if (symbols::family_of(symbols::Function(function)) == symbols::Family::send && size > 0 &&
            armed.stage == Stage::counting)
            world::caches.latest_size = {world::number(type), world::size_of(type)};
        return size;
    }

    void on(MPI_Comm on_comm) noexcept {
        comm = on_comm;
        has_comm = true;
    }
    void born(MPI_Comm fresh) const noexcept { world::comm_info(fresh); }
    world::CommInfo* info() const noexcept { return has_comm ? world::comm_info(comm) : nullptr; }
    [[gnu::noinline]] int32_t size() const noexcept { return info() ? info()->size : 0; }
    [[gnu::noinline]] int32_t group() const noexcept { return info() ? info()->group : 0; }
    [[gnu::noinline]] int32_t rank() const noexcept { return info() ? info()->rank : 0; }
    [[gnu::noinline]] int32_t degree() const noexcept {
        return info() ? world::out_degree(*info(), comm) : 0;
    }

    void sent_to(int destination) noexcept {
        if (destination == MPI_PROC_NULL)
            bytes = 0;
    }
    void remembers(MPI_Request request, int destination) noexcept;
    void starts(int count, const MPI_Request requests[]) noexcept;

    /// `count` elements of a type that all ranks, or the one at `root`, have received.
    template <class Count>
    [[gnu::always_inline]] void result(const void* at, Count count, MPI_Datatype type) const noexcept {
        if (const uint64_t size = payload(type, count); size - 1 < marks::result_bytes)
            in_memory().note_result(at, size, type);
    }
    template <class Count>
    [[gnu::always_inline]] void result_at(int root, const void* at, Count count,
                                          MPI_Datatype type) const noexcept {
        if (root >= 0 && root == rank())
            result(at, count, type);
    }

    /// The sent data, of which `bytes` bytes have gone to a rank.
    template <class Count>
    [[gnu::always_inline]] void message(const void* at, Count, MPI_Datatype type) const noexcept {
        if (armed.in_last_step && bytes - 1 < marks::message_bytes) [[unlikely]]
            in_memory().note_message(at, type);
    }

    // Of no matter before the last mark.
    void on_window(MPI_Win) noexcept {}
    void born_window(MPI_Win) noexcept {}
    void named(const char*) noexcept {}
    void put_to(int) noexcept {}
    void got_from(int) noexcept {}
    void remembers_receive(MPI_Request, int) noexcept {}
    void opened(MPI_File, const char*, MPI_Comm, int) noexcept {}
    void views(MPI_File, MPI_Datatype) noexcept {}
    void reads(MPI_File, world::FilePlace) noexcept {}
    void writes(MPI_File, world::FilePlace) noexcept {}

    /// Counts a call of a function that may count the program's steps.
    template <symbols::Function counted> [[gnu::always_inline]] void note() const noexcept {
        if (armed.stage != Stage::counting) [[unlikely]]
            return in_memory().note_carefully(symbols::family_of(counted));
        if constexpr (symbols::family_of(counted) == symbols::Family::collective)
            armed.marks.count_collective(bytes);
        else
            armed.marks.count_send(bytes);
        if (armed.function == uint16_t(counted)) [[unlikely]]
            in_memory().note_marked();
    }

  private:
    /// A copy for functions that are not inlined, so that the call itself stays in registers.
    [[gnu::always_inline]] MarkedCall in_memory() const noexcept { return *this; }
    void note_result(const void* at, uint64_t size, MPI_Datatype type) const noexcept;
    void note_message(const void* at, MPI_Datatype type) const noexcept;
    void note_marked() const noexcept;
    void note_carefully(symbols::Family family) const noexcept;
    bool counts_as_last() const noexcept;
    uint32_t row() const noexcept;
};

}  // namespace mpiric::steps
