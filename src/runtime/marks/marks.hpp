// Results of a run between two marks: when this rank passed which mark, counts of its calls until then, and
// digests of results, in a mapped file that outlives it. Free of MPI: numbers, names, bytes.
#pragma once

#include "base/clock.hpp"
#include "base/element.hpp"
#include "base/spin_lock.hpp"
#include "marks/format.hpp"
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mpiric::marks {

// The two calls that a run is measured between, as MPIRIC_MARK names them.

/// Calls of one kind, and the numbers of two of them.
struct Mark {
    std::string_view function;
    std::string_view module;  ///< file without its directory; empty: called from anywhere
    uint64_t offset = 0;      ///< offset of the return address in the module
    uint32_t ranks = 0;       ///< size of the communicator; 0: any size
    uint32_t birth = 0;       ///< number of communicators of this size that this rank created before it
    uint64_t first = 0, last = 0;
};

/// The text that asks for times alone.
inline constexpr std::string_view only_times = "main";

/// Reads `FUNCTION@MODULE+0xOFFSET@RANKS.BIRTH:FIRST,LAST`, with `*` for any place or communicator; false
/// when the text is malformed. The parts of the mark are parts of the text.
bool read_mark(std::string_view text, Mark& mark) noexcept;

/// Position of an address: a file without its directory (empty: unknown), and the offset from its start.
struct Location {
    char module[sizeof(Module::name)] = "";
    uint64_t offset = 0;
};
using Locate = void (*)(uint64_t address, Location& location);

/// Parameters of a rank, known when MPI has been initialised.
struct Arming {
    const char* directory;
    const char* text;  ///< text that asked for the mark
    const Mark* mark;  ///< null: only times are taken
    int world_rank, world_size;
    int thread_level;
    bool many_threads;
    uint64_t job;
    uint64_t begin_unix_ns, init_entered_ns;
    Locate locate;
};

/// Position of a counted call relative to the marks.
enum class Passed : uint8_t {
    neither,
    first,
    before_last,  ///< the call before the last mark: its step begins
    last
};

class Marks {
  public:
    /// Creates, fills with room and maps the rank's file; where that fails `reason` says why.
    bool open(const Arming& arming, const char*& reason) noexcept;
    bool is_open() const noexcept { return head_ != nullptr; }
    Head& head() noexcept { return *head_; }
    const Head& head() const noexcept { return *head_; }

    void set(Flag flag) noexcept { head_->flags |= uint32_t(flag); }

    /// Adds a communicator of one group, in the order in which this rank makes them; returns its row.
    uint32_t add_communicator(uint32_t ranks) noexcept;
    /// The row of calls without a communicator of their own.
    static constexpr uint32_t no_communicator = communicator_count - 1;

    [[gnu::always_inline]] void count_collective(uint64_t bytes) noexcept {
        ++head_->so_far.collective_calls;
        head_->so_far.collective_bytes += bytes;
    }
    [[gnu::always_inline]] void count_send(uint64_t bytes) noexcept {
        ++head_->so_far.send_calls;
        head_->so_far.send_bytes += bytes;
    }

    /// Whether a call of the mark's function is one of its kind.
    bool is_marked(uint64_t address, uint32_t communicator) noexcept {
        return (any_communicator_ || communicator == communicator_) && (any_place_ || is_place(address));
    }

    /// Counts a call of the mark's kind, after it has been counted as what it is.
    [[gnu::always_inline]] Passed count_marked() noexcept {
        if (++head_->calls != upcoming_) [[likely]]
            return Passed::neither;
        return reach();
    }

    /// Takes the present moment for that at which the last mark was passed.
    void pass_last() noexcept { cross(head_->at_last, now_ns()); }

    /// Digests a result of at most `result_bytes` bytes, which must be readable.
    void add_result(uint64_t address, uint32_t function, const char* name, uint32_t communicator,
                    const void* result, size_t bytes, Element element) noexcept;
    /// The same of a message of the step before the last mark, of at most `message_bytes`, in whatever order.
    void add_message(uint64_t address, uint32_t function, const char* name, uint32_t communicator,
                     const void* message, size_t bytes, Element element) noexcept;

    bool many_threads() const noexcept { return many_threads_; }
    SpinLock& lock() noexcept { return lock_; }

  private:
    bool is_place(uint64_t address) noexcept;
    Passed reach() noexcept;
    void cross(Crossing& crossing, uint64_t now) noexcept;
    uint64_t next_stop() const noexcept;
    uint32_t module_row(const char* name) noexcept;
    Result* result_row(uint64_t address, uint32_t function, const char* name, uint32_t communicator) noexcept;

    static constexpr uint32_t result_slots = 2 * result_count, place_slots = 64;

    struct Place {
        uint64_t address;
        bool is_mark;
    };
    struct Source {
        uint64_t address;
        uint32_t function, communicator;
    };

    Head* head_ = nullptr;
    MarkCommunicator* communicators_ = nullptr;
    Module* modules_ = nullptr;
    Result* results_ = nullptr;
    uint64_t upcoming_ = 0;  ///< number of the next call at which there is something to do
    bool any_place_ = false, any_communicator_ = false, many_threads_ = false;
    uint32_t communicator_ = UINT32_MAX;  ///< row of the mark's communicator, once it exists
    Mark mark_;
    Locate locate_ = nullptr;
    SpinLock lock_;
    Place places_[place_slots] = {};            ///< return addresses that have been looked at
    Source sources_[result_count] = {};         ///< sources of the rows of results
    uint16_t result_index_[result_slots] = {};  ///< row + 1 by hash
    char path_[4096] = {};
};

}  // namespace mpiric::marks
