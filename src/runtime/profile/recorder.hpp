// Record of one rank: tables in a mapped file, so that they outlive the rank. Free of MPI.
#pragma once

#include "allocator/totals.hpp"
#include "base/spin_lock.hpp"
#include "profile/format.hpp"
#include "profile/pace.hpp"
#include "profile/timeline.hpp"

#include <csignal>
#include <cstddef>
#include <processor.hpp>
#include <pthread.h>
#include <string_view>

namespace mpiric::profile {

/// Communicator index of calls without a communicator.
inline constexpr uint32_t no_communicator = 0xFFFF;

/// Parameters of a record, known when a rank begins it.
struct Beginning {
    const char* directory;
    int world_rank, world_size;
    int thread_level;
    bool many_threads;     ///< calls may come from several threads at once
    bool with_call_sites;  ///< so that each call has to be recorded in full
    uint64_t job;
    std::string_view names;     ///< function names, one a line, in the order of their numbers
    bool or_in_memory = false;  ///< without a file too: the ranks will merge what they have
};

/// Time of one call.
struct Elapsed {
    uint64_t ticks = 0;
    uint64_t end = 0;     ///< tick at which it was over
    uint32_t weight = 0;  ///< calls of its kind that it represents; 0: this call was not timed
};

/// Bin of a message size: 0 for nothing, else the number of bits in it.
inline uint32_t size_bin(uint64_t bytes) noexcept {
    return bytes ? 64u - static_cast<uint32_t>(__builtin_clzll(bytes)) : 0;
}

class Recorder {
  public:
    /// Creates, fills with room and maps the rank's file. Where that fails, `reason` says why and nothing is
    /// recorded, unless memory may take its place.
    bool open(const Beginning& beginning, const char*& reason) noexcept;

    /// The cell of calls of this kind and size if it is the cell of this function's latest call, as in most
    /// cases; null otherwise. The hot path: no lock and no look-up.
    [[gnu::always_inline]] Cell* latest(uint32_t function, uint32_t communicator,
                                        uint64_t bytes) const noexcept {
        Cell* cell = latest_cells_[function];
        return cell->key == key_of(function, communicator, bytes) ? cell : nullptr;
    }

    /// Adds a call to the cell that latest() has given.
    [[gnu::always_inline]] void add(Cell& cell, uint32_t function, uint64_t bytes, const Elapsed& elapsed,
                                    uint64_t waited) noexcept {
        ++cell.calls;
        cell.bytes += bytes;
        if (!elapsed.weight)
            return;
        cell.waited += waited;
        add_time(cell, elapsed.ticks);
        spend(Activity(activity_[function]), elapsed.ticks + waited, elapsed.end, elapsed.weight);
    }

    /// Counts one call of a size: the bytes it has moved and the room it has offered. Returns its cell, null
    /// when the table is full.
    Cell* count(uint32_t function, uint32_t communicator, uint64_t bytes, uint64_t room,
                const Elapsed& elapsed, uint64_t waited) noexcept {
        const uint64_t key = key_of(function, communicator, bytes + room);
        const Held held(lock_, many_threads_);
        Cell* cell = find(key);
        if (!cell) [[unlikely]]
            return nullptr;
        if (remembers_latest_)
            latest_cells_[function] = cell;
        add(*cell, function, bytes, elapsed, waited);
        return cell;
    }

    /// Adds bytes that a call counted in this cell has moved since.
    void add_bytes(Cell& cell, uint64_t bytes) noexcept {
        const Held held(lock_, many_threads_);
        cell.bytes += bytes;
    }

    /// Adds time in files outside MPI. Without MPI_THREAD_MULTIPLE only time of the first thread counts: on
    /// others it does not hold up the rank's own work.
    void in_files(uint64_t from, uint64_t to) noexcept {
        if (!many_threads_ && !pthread_equal(pthread_self(), owner_))
            return;
        const Held held(lock_, many_threads_);
        spend(Activity::files, to - from, to, 1);
    }

    /// Counts a call of a cheap local function that needs nothing but that: not where it is the first one or
    /// to be timed, or several threads count. (The cell of no function has no calls.)
    [[gnu::always_inline]] bool counts_at_once(uint32_t function) noexcept {
        Cell& cell = *latest_cells_[function];
        if (many_threads_ || (cell.calls & 63) == 0) [[unlikely]]
            return false;
        ++cell.calls;
        return true;
    }

    /// The cell of a cheap local function, which has no communicator, bytes or region; null: table full.
    Cell* local(uint32_t function) noexcept {
        Cell* cell = latest_cells_[function];
        return cell != &no_cell_ ? cell : add_local(function);
    }

    /// Counts a call in the cell of local(); true when this one is to be timed: one in 64.
    bool count_local(Cell& cell) noexcept {
        if (many_threads_) [[unlikely]]
            return (__atomic_fetch_add(&cell.calls, 1, __ATOMIC_RELAXED) & 63) == 0;
        return (cell.calls++ & 63) == 0;
    }
    void time_local(Cell& cell, uint64_t ticks) noexcept {
        const Held held(lock_, many_threads_);
        add_time(cell, ticks);
    }

    /// Counts a message, put or get between this rank and a rank of the world (-1: outside).
    [[gnu::always_inline]] void traffic(Traffic kind, int world_rank, uint64_t bytes) noexcept {
        Peer* peer = latest_peer_;
        if (peer->world_rank != world_rank || peer->traffic != uint32_t(kind)) [[unlikely]]
            return other_traffic(kind, world_rank, bytes);
        ++peer->messages;
        peer->bytes += bytes;
    }

    /// Room for a call that this thread enters. The record shows the calls of the thread that has begun it,
    /// or of all threads where one at a time calls MPI; `other` takes the calls of other threads.
    [[gnu::always_inline]] Call& entered(Call& other) noexcept {
        if (many_threads_ && !pthread_equal(pthread_self(), owner_)) [[unlikely]]
            return other;
        return *call_;
    }
    [[gnu::always_inline]] void returned(uint64_t end) noexcept { image_->left_ticks = end; }
    [[gnu::always_inline]] void polled(uint32_t function, uint64_t end) noexcept {
        image_->polled = function;
        if (end)
            image_->polled_ticks = end;
    }
    /// Keeps a call that has started a request: the next call gets other room.
    [[gnu::always_inline]] void keep(Call& call, uint64_t request) noexcept {
        call.other = request;
        if (&call == call_)
            call_ = call_ == last_call_ ? entries<Call>(Section::calls) : call_ + 1;
    }
    /// Adds the size of a datatype; in a full table it replaces an earlier one.
    void datatype(uint64_t handle, uint64_t bytes) noexcept {
        if (!is_open())
            return;
        Datatype* rows = entries<Datatype>(Section::datatypes);
        uint64_t at = handle * 0x9E3779B97F4A7C15ull >> 32;
        for (int step = 0; step < 8; ++step, ++at)
            if (const uint64_t there = rows[at % datatype_capacity].handle; there == 0 || there == handle)
                break;
        rows[at % datatype_capacity] = {handle, bytes};
    }

    /// Adds a communicator or window; returns its index, or the index of the last row, which gathers all that
    /// did not fit.
    uint32_t add_communicator(const Communicator& row, uint64_t handle) noexcept;
    void name_communicator(uint32_t index, const char* name) noexcept;

    void enter_region(const char* name) noexcept;
    void leave_region() noexcept;

    /// The row of a file by path; null when the table is full.
    File* file(const char* path, uint32_t interface, uint32_t processes) noexcept;
    /// Further counts of a file.
    FileDetail& detail(const File& row) noexcept {
        return entries<FileDetail>(Section::file_details)[&row - entries<File>(Section::files)];
    }

    /// Counts a call from a place in the program; true when it is the first one from there.
    bool call_site(uint64_t address, uint32_t function, uint64_t bytes, const Elapsed& elapsed) noexcept;

    /// Counts a call of a function that may count the program's steps, from a place in it; true when it is
    /// the first one from there.
    [[gnu::always_inline]] bool pace(uint64_t address, uint32_t function, uint32_t communicator,
                                     uint64_t now) noexcept {
        if (many_threads_) [[unlikely]]
            return pace_among_threads(address, function, communicator, now);
        return pace_.count(address, function, communicator, now);
    }

    /// Counts a receive that was looked at before it was posted; `late`: its message was waiting already.
    void looked_at(bool late, uint64_t bytes) noexcept;

    /// Appends a line `key=value` to the facts of the rank.
    void fact(const char* key, const char* value) noexcept;

    void finish(State state) noexcept;

    /// Bytes that compact() needs at most.
    size_t compact_bytes() const noexcept;
    /// Writes the image without unused room and without sections that are not merged; returns its length.
    size_t compact(std::byte* to) const noexcept;

    /// Takes the file away after its contents have gone into a merged one.
    void remove_file() noexcept;

    /// The file's pages are gone and zeroed ones in their place: makes them safe to write to, for calls that
    /// are under way. For signal handlers.
    void lose() noexcept {
        *image_ = plan_;
        lost_ = true;
    }

    bool is_open() const noexcept { return image_ && !lost_; }
    bool is_in_file() const noexcept { return is_open() && *path_; }
    const Image& image() const noexcept { return *image_; }
    SpinLock& lock() noexcept { return lock_; }
    bool many_threads() const noexcept { return many_threads_; }

  private:
    static constexpr uint32_t cell_capacity = 4096, communicator_capacity = 1024, region_capacity = 64;
    static constexpr uint32_t function_capacity = 1024;
    static constexpr uint32_t file_capacity = 800, site_capacity = 1024, facts_capacity = 16384;
    static constexpr uint32_t call_capacity = 16, datatype_capacity = 64;

    uint64_t key_of(uint32_t function, uint32_t communicator, uint64_t bytes) const noexcept {
        return uint64_t(function) | uint64_t(communicator) << 16 | uint64_t(size_bin(bytes)) << 32 |
               uint64_t(region_) << 40;
    }
    Cell* find(uint64_t key) noexcept {
        const uint32_t slot = cell_index_.slot(key, [&](uint32_t at) { return cells_[at].key == key; });
        if (!cell_index_.free(slot)) [[likely]]
            return &cells_[cell_index_.position(slot)];
        return add_cell(key, slot);
    }
    [[gnu::always_inline]] static void add_time(Cell& cell, uint64_t ticks) noexcept {
        ++cell.timed;
        cell.ticks += ticks;
        if (ticks < cell.shortest)
            cell.shortest = ticks;
        if (ticks > cell.longest)
            cell.longest = ticks;
        ++cell.histogram[size_bin(ticks) < time_bins ? size_bin(ticks) : time_bins - 1];
    }
    Cell* add_local(uint32_t function) noexcept;
    Cell* add_cell(uint64_t key, uint32_t slot) noexcept;
    SectionEntry& section(Section kind) noexcept { return image_->section[static_cast<uint32_t>(kind)]; }
    template <class Entry> Entry* entries(Section kind) noexcept {
        return reinterpret_cast<Entry*>(reinterpret_cast<std::byte*>(image_) + section(kind).offset);
    }
    void lay_out(const Beginning& beginning) noexcept;
    void learn_activities(std::string_view names) noexcept;
    [[gnu::always_inline]] void spend(Activity activity, uint64_t spent, uint64_t until,
                                      uint32_t weight) noexcept {
        if (timeline_.in_this_span(spent, until)) [[likely]]
            timeline_.add_to_this_span(activity, spent, weight);
        else
            spend_elsewhere(activity, spent, until, weight);
    }
    void spend_elsewhere(Activity activity, uint64_t spent, uint64_t until, uint32_t weight) noexcept;
    bool pace_among_threads(uint64_t address, uint32_t function, uint32_t communicator,
                            uint64_t now) noexcept;
    void other_traffic(Traffic kind, int world_rank, uint64_t bytes) noexcept;
    /// Writes the clock pair and the usage, so that a rank that dies leaves them.
    void take_stock() noexcept;
    static Usage usage() noexcept;
    void take_time() noexcept;

    Image* image_ = nullptr;
    volatile std::sig_atomic_t lost_ = false;
    Cell* cells_ = nullptr;
    Call *call_ = nullptr, *last_call_ = nullptr;  ///< room for the next call, end of the room for calls
    bool many_threads_ = false;
    bool remembers_latest_ = false;
    uint32_t region_ = 0;
    uint32_t region_depth_ = 0;
    uint32_t region_stack_[16] = {};
    uint64_t region_since_[16] = {};
    SpinLock lock_;
    Timeline timeline_;
    PaceTable pace_;
    Usage usage_at_begin_ = {};
    allocator::Totals allocated_at_begin_ = {};
    pthread_t owner_{};
    uint8_t activity_[function_capacity] = {};  ///< indexed by function
    // Without a latest call, or with several threads, these point to entries that equal nothing.
    Cell* latest_cells_[function_capacity] = {};  ///< indexed by function: the cell of its last call
    Peer* latest_peer_ = nullptr;                 ///< whom the latest message was for
    Cell no_cell_ = {};
    Peer no_peer_ = {};
    DenseIndex<13> cell_index_;
    DenseIndex<17> peer_index_;
    DenseIndex<11> file_index_;
    DenseIndex<11> site_index_;
    Image plan_ = {};  ///< the header before there is a file
    char path_[4096] = {};
};

}  // namespace mpiric::profile
