// The file of one rank: laid out, given all its room at once, mapped. Room first: a full disk must be an
// error here and now, not a SIGBUS in the middle of the program.
#include "base/clock.hpp"
#include "base/own_file.hpp"
#include "profile/recorder.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace mpiric::profile {

constexpr uint64_t page = 4096;

void Recorder::lay_out(const Beginning& beginning) noexcept {
    plan_ = Image{};
    std::memcpy(plan_.magic, image_magic, sizeof plan_.magic);
    plan_.version = format_version;
    plan_.sections = section_count;
    plan_.world_rank = beginning.world_rank;
    plan_.world_size = beginning.world_size;
    plan_.state = uint32_t(State::running);
    plan_.thread_level = uint32_t(beginning.thread_level);
    plan_.job = beginning.job;
    plan_.begin_unix_ns = now_ns(CLOCK_REALTIME);
    // Three kinds of traffic with each rank at most; traffic beyond that is counted as lost.
    const uint32_t peers = uint32_t(std::min<uint64_t>(3ull * uint64_t(beginning.world_size) + 8, 1u << 16));
    const SectionEntry sections[section_count] = {
        {0, sizeof(Cell), cell_capacity, 0, 0},
        {0, sizeof(Communicator), communicator_capacity, 0, 0},
        {0, sizeof(Peer), peers, 0, 0},
        {0, sizeof(Region), region_capacity, 0, 0},
        {0, sizeof(File), file_capacity, 0, 0},
        {0, sizeof(Site), site_capacity, 0, 0},
        {0, 1, uint32_t(beginning.names.size()), 0, 0},
        {0, 1, facts_capacity, 0, 0},
        {0, sizeof(Span), span_count, 0, 0},
        {0, sizeof(Pace), PaceTable::capacity, 0, 0},
        {0, sizeof(PaceTimes), PaceTable::capacity, 0, 0},
        {0, sizeof(FileDetail), file_capacity, 0, 0},
        {0, sizeof(Call), call_capacity, call_capacity, 0},
        {0, sizeof(Handle), communicator_capacity, 0, 0},
        {0, sizeof(Datatype), datatype_capacity, datatype_capacity, 0},
    };
    uint64_t offset = sizeof(Image);
    for (uint32_t at = 0; at < section_count; ++at) {
        plan_.section[at] = sections[at];
        plan_.section[at].offset = offset;
        offset += (uint64_t(sections[at].stride) * sections[at].capacity + 63) / 64 * 64;
    }
    plan_.bytes = (offset + page - 1) / page * page;
}

void Recorder::learn_activities(std::string_view names) noexcept {
    for (uint32_t function = 0; !names.empty() && function < function_capacity; ++function) {
        const std::string_view line = names.substr(0, names.find('\n'));
        const std::string_view kind = line.substr(std::min(line.find(' ') + 1, line.size()));
        const auto is = [&](auto... some) { return ((kind == some) || ...); };
        activity_[function] =
            uint8_t(is("send", "receive", "start", "wait", "poll") ? Activity::point_to_point
                    : is("collective")                             ? Activity::collective
                    : is("file")                                   ? Activity::files
                                                                   : Activity::other_mpi);
        names.remove_prefix(std::min(line.size() + 1, names.size()));
    }
}

bool Recorder::open(const Beginning& beginning, const char*& reason) noexcept {
    lay_out(beginning);
    void* at = map_rank_file(path_, beginning.directory, beginning.world_rank, "part", plan_.bytes, reason);
    if (!at && beginning.or_in_memory) {
        *path_ = '\0';
        at = mmap(nullptr, plan_.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (!at || at == MAP_FAILED)
        return false;
    image_ = static_cast<Image*>(at);
    *image_ = plan_;
    cells_ = entries<Cell>(Section::cells);
    call_ = entries<Call>(Section::calls);
    last_call_ = call_ + call_capacity - 1;
    many_threads_ = beginning.many_threads;
    remembers_latest_ = !many_threads_ && !beginning.with_call_sites;
    no_cell_.key = UINT64_MAX;
    no_peer_.world_rank = INT32_MIN;
    std::fill(std::begin(latest_cells_), std::end(latest_cells_), &no_cell_);
    latest_peer_ = &no_peer_;
    std::memcpy(entries<char>(Section::names), beginning.names.data(), beginning.names.size());
    section(Section::names).used = uint32_t(beginning.names.size());
    Region& whole = entries<Region>(Section::regions)[0];
    std::strcpy(whole.name, "(program)");
    whole.entries = 1;
    section(Section::regions).used = 1;
    image_->begin_ns = now_ns();
    image_->begin_ticks = ticks();
    owner_ = pthread_self();
    usage_at_begin_ = usage();
    if (mpiric_allocator_totals)
        allocated_at_begin_ = mpiric_allocator_totals();
    learn_activities(beginning.names);
    timeline_.begin(entries<Span>(Section::spans), image_->span_ticks, section(Section::spans).used,
                    image_->begin_ticks);
    pace_.begin(entries<Pace>(Section::pace), entries<PaceTimes>(Section::pace_times), section(Section::pace),
                section(Section::pace_times));
    take_time();
    return true;
}

void Recorder::fact(const char* key, const char* value) noexcept {
    SectionEntry& facts = section(Section::facts);
    char* to = entries<char>(Section::facts) + facts.used;
    const size_t room = facts.capacity - facts.used;
    const size_t key_length = std::strlen(key);
    const size_t value_length = std::strlen(value);
    if (key_length + value_length + 2 > room) {
        ++facts.lost;
        return;
    }
    std::memcpy(to, key, key_length);
    to[key_length] = '=';
    std::transform(value, value + value_length, to + key_length + 1,
                   [](char c) { return c == '\n' ? ' ' : c; });
    to[key_length + 1 + value_length] = '\n';
    facts.used += uint32_t(key_length + value_length + 2);
}

size_t Recorder::compact_bytes() const noexcept {
    size_t bytes = sizeof(Image);
    for (const SectionEntry& entry : image_->section)
        bytes += (uint64_t(entry.stride) * entry.used + 7) / 8 * 8;
    return bytes;
}

size_t Recorder::compact(std::byte* to) const noexcept {
    Image head = *image_;
    uint64_t offset = sizeof(Image);
    for (uint32_t at = 0; at < section_count; ++at) {
        SectionEntry& entry = head.section[at];
        // Names are in a merged file once, times of paces only of rank 0, and calls in flight never.
        const auto kind = Section(at);
        if (kind == Section::names || kind >= Section::calls ||
            (kind == Section::pace_times && image_->world_rank != 0))
            entry.used = 0;
        const uint64_t bytes = uint64_t(entry.stride) * entry.used;
        std::memcpy(to + offset, reinterpret_cast<const std::byte*>(image_) + entry.offset, bytes);
        entry.offset = offset;
        entry.capacity = entry.used;
        std::memset(to + offset + bytes, 0, (8 - bytes % 8) % 8);
        offset += (bytes + 7) / 8 * 8;
    }
    head.bytes = offset;
    std::memcpy(to, &head, sizeof head);
    return offset;
}

void Recorder::remove_file() noexcept { unlink(path_); }

}  // namespace mpiric::profile
