// Seldom-used parts of the recorder: new rows, regions, and the end. Rows are found by an index in memory.
#include "profile/recorder.hpp"

#include "base/clock.hpp"
#include "base/hash.hpp"

#include <algorithm>
#include <cstring>
#include <sys/resource.h>

namespace mpiric::profile {
namespace {

void copy_text(char* to, size_t room, const char* from) noexcept {
    const size_t length = std::min(strnlen(from, room), room - 1);
    std::memcpy(to, from, length);
    to[length] = '\0';
}

/// Whether a section has no room for an entry, which is then lost.
bool is_full(SectionEntry& entry) noexcept {
    if (entry.used < entry.capacity)
        return false;
    ++entry.lost;
    return true;
}

}  // namespace

Cell* Recorder::add_cell(uint64_t key, uint32_t slot) noexcept {
    SectionEntry& cells = section(Section::cells);
    if (is_full(cells))
        return nullptr;
    // A rank that dies leaves its latest clock pair: new kinds of calls are rare enough to take one at each.
    take_time();
    Cell* cell = &cells_[cells.used];
    *cell = Cell{};
    cell->key = key;
    cell->shortest = UINT64_MAX;
    cell_index_.put(slot, cells.used);
    ++cells.used;
    return cell;
}

Cell* Recorder::add_local(uint32_t function) noexcept {
    const Held held(lock_, many_threads_);
    if (function >= function_capacity)
        return nullptr;
    if (latest_cells_[function] == &no_cell_)
        if (Cell* cell = find(uint64_t(function) | uint64_t(no_communicator) << 16))
            latest_cells_[function] = cell;
    return latest_cells_[function] == &no_cell_ ? nullptr : latest_cells_[function];
}

void Recorder::take_time() noexcept {
    image_->latest_ticks = ticks();
    image_->latest_ns = now_ns();
}

Usage Recorder::usage() noexcept {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto microseconds = [](const timeval& time) {
        return uint64_t(time.tv_sec) * 1'000'000u + uint64_t(time.tv_usec);
    };
    return {microseconds(used.ru_utime), microseconds(used.ru_stime), uint64_t(used.ru_minflt),
            uint64_t(used.ru_majflt),    uint64_t(used.ru_nvcsw),     uint64_t(used.ru_nivcsw),
            uint64_t(used.ru_maxrss)};
}

void Recorder::take_stock() noexcept {
    take_time();
    const Usage now = usage();
    const Usage& begin = usage_at_begin_;
    image_->usage = {now.user_us - begin.user_us,
                     now.system_us - begin.system_us,
                     now.minor_faults - begin.minor_faults,
                     now.major_faults - begin.major_faults,
                     now.voluntary_switches - begin.voluntary_switches,
                     now.involuntary_switches - begin.involuntary_switches,
                     now.peak_kib};
    if (!mpiric_allocator_totals) {
        image_->allocator_calls = image_->allocator_large_calls = image_->allocator_us = UINT64_MAX;
        return;
    }
    const allocator::Totals all = mpiric_allocator_totals(), &before = allocated_at_begin_;
    image_->allocator_calls = all.calls - before.calls;
    image_->allocator_large_calls = all.large_calls - before.large_calls;
    image_->allocator_us = (all.time_ns - before.time_ns) / 1000;
}

void Recorder::spend_elsewhere(Activity activity, uint64_t spent, uint64_t until, uint32_t weight) noexcept {
    if (timeline_.add(activity, until - spent, until, weight))
        take_stock();
}

void Recorder::other_traffic(Traffic kind, int world_rank, uint64_t bytes) noexcept {
    const Held held(lock_, many_threads_);
    Peer* peers = entries<Peer>(Section::peers);
    const uint64_t key = uint64_t(uint32_t(world_rank)) << 2 | uint64_t(kind);
    const uint32_t slot = peer_index_.slot(key, [&](uint32_t at) {
        return peers[at].world_rank == world_rank && peers[at].traffic == uint32_t(kind);
    });
    SectionEntry& entry = section(Section::peers);
    if (peer_index_.free(slot)) {
        if (is_full(entry))
            return;
        peers[entry.used] = {world_rank, uint32_t(kind), 0, 0};
        peer_index_.put(slot, entry.used++);
    }
    Peer& peer = peers[peer_index_.position(slot)];
    if (!many_threads_)
        latest_peer_ = &peer;
    ++peer.messages;
    peer.bytes += bytes;
}

uint32_t Recorder::add_communicator(const Communicator& row, uint64_t handle) noexcept {
    const Held held(lock_, many_threads_);
    SectionEntry& entry = section(Section::communicators);
    Communicator* rows = entries<Communicator>(Section::communicators);
    if (entry.used == entry.capacity) {
        ++entry.lost;
        copy_text(rows[entry.capacity - 1].name, sizeof rows->name, "(others)");
        return entry.capacity - 1;
    }
    rows[entry.used] = row;
    entries<Handle>(Section::handles)[entry.used] = {handle};
    section(Section::handles).used = entry.used + 1;
    rows[entry.used].ordinal =
        static_cast<uint32_t>(std::count_if(rows, rows + entry.used, [&](const Communicator& other) {
            return other.members == row.members && other.flags == row.flags;
        }));
    return entry.used++;
}

void Recorder::name_communicator(uint32_t index, const char* name) noexcept {
    const Held held(lock_, many_threads_);
    if (index < section(Section::communicators).used)
        copy_text(entries<Communicator>(Section::communicators)[index].name, sizeof(Communicator::name),
                  name);
}

void Recorder::enter_region(const char* name) noexcept {
    const Held held(lock_, many_threads_);
    if (region_depth_ == std::size(region_stack_))
        return;
    SectionEntry& entry = section(Section::regions);
    Region* rows = entries<Region>(Section::regions);
    uint32_t at = 0;
    while (at < entry.used && std::strncmp(rows[at].name, name, sizeof rows->name - 1) != 0)
        ++at;
    if (at == entry.capacity) {
        ++entry.lost;
        return;
    }
    if (at == entry.used) {
        copy_text(rows[at].name, sizeof rows->name, name);
        ++entry.used;
    }
    const uint64_t now = ticks();
    ++rows[at].entries;
    timeline_.region_until(region_, now);
    region_stack_[region_depth_] = region_;
    region_since_[region_depth_++] = now;
    region_ = at;
}

void Recorder::leave_region() noexcept {
    const Held held(lock_, many_threads_);
    if (region_depth_ == 0)
        return;
    const uint64_t now = ticks();
    timeline_.region_until(region_, now);
    entries<Region>(Section::regions)[region_].ticks += now - region_since_[--region_depth_];
    region_ = region_stack_[region_depth_];
}

File* Recorder::file(const char* path, uint32_t interface, uint32_t processes) noexcept {
    SectionEntry& entry = section(Section::files);
    File* rows = entries<File>(Section::files);
    const uint64_t key = hash_text(interface, path);
    const uint32_t slot = file_index_.slot(key, [&](uint32_t at) {
        return rows[at].interface == interface &&
               std::strncmp(rows[at].path, path, sizeof rows->path - 1) == 0;
    });
    if (!file_index_.free(slot))
        return &rows[file_index_.position(slot)];
    if (is_full(entry))
        return nullptr;
    File& row = rows[entry.used];
    row = File{};
    row.interface = interface;
    row.processes = processes;
    copy_text(row.path, sizeof row.path, path);
    file_index_.put(slot, entry.used++);
    detail(row) = FileDetail{};
    section(Section::file_details).used = entry.used;
    return &row;
}

bool Recorder::call_site(uint64_t address, uint32_t function, uint64_t bytes,
                         const Elapsed& elapsed) noexcept {
    const Held held(lock_, many_threads_);
    SectionEntry& entry = section(Section::sites);
    Site* rows = entries<Site>(Section::sites);
    const uint32_t slot = site_index_.slot(address ^ uint64_t(function) << 48, [&](uint32_t at) {
        return rows[at].address == address && rows[at].function == function;
    });
    const bool first = site_index_.free(slot);
    if (first) {
        if (is_full(entry))
            return false;
        rows[entry.used] = {address, function, 0, 0, 0, 0};
        site_index_.put(slot, entry.used++);
    }
    Site& site = rows[site_index_.position(slot)];
    ++site.calls;
    site.bytes += bytes;
    site.timed += elapsed.weight != 0;
    site.ticks += elapsed.ticks;
    return first;
}

bool Recorder::pace_among_threads(uint64_t address, uint32_t function, uint32_t communicator,
                                  uint64_t now) noexcept {
    const Held held(lock_, true);
    return pace_.count(address, function, communicator, now);
}

void Recorder::looked_at(bool late, uint64_t bytes) noexcept {
    const Held held(lock_, many_threads_);
    ++image_->receives_looked_at;
    if (late) {
        ++image_->receives_late;
        image_->bytes_late += bytes;
        image_->bytes_waiting_peak = std::max(image_->bytes_waiting_peak, bytes);
    }
}

void Recorder::finish(State state) noexcept {
    while (region_depth_ > 0)
        leave_region();
    const Held held(lock_, many_threads_);
    const uint64_t now = ticks();
    timeline_.region_until(region_, now);
    entries<Region>(Section::regions)[0].ticks = now - image_->begin_ticks;
    take_stock();
    image_->state = uint32_t(state);
}

}  // namespace mpiric::profile
