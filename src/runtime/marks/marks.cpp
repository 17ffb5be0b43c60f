// The file of marks: filled by MarkedCall (steps/), read by src/mpiric after the run.
#include "marks/marks.hpp"
#include "base/clock.hpp"
#include "base/own_file.hpp"
#include "base/text.hpp"
#include "marks/digest.hpp"
#include <algorithm>
#include <cstring>

namespace mpiric::marks {

namespace {

/// Cuts off what follows the last such character, and the character; false when there is none.
bool cut_last(std::string_view& text, std::string_view separator, std::string_view& rest) noexcept {
    const size_t at = text.rfind(separator);
    if (at == std::string_view::npos)
        return false;
    rest = text.substr(at + separator.size());
    text = text.substr(0, at);
    return true;
}

bool read_place(std::string_view text, Mark& mark) noexcept {
    if (text == "*")
        return true;
    std::string_view offset;
    if (!cut_last(text, "+0x", offset) || text.empty())
        return false;
    mark.module = text;
    return read_number(offset, mark.offset, 16);
}

bool read_communicator(std::string_view text, Mark& mark) noexcept {
    if (text == "*")
        return true;
    std::string_view birth;
    return cut_last(text, ".", birth) && read_number(text, mark.ranks) && mark.ranks > 0 &&
           read_number(birth, mark.birth);
}

uint64_t spread(uint64_t key) noexcept { return key * 0x9E3779B97F4A7C15ull; }

/// Copies a text into a field whose rest is zero already.
template <size_t room> void put_text(char (&field)[room], const char* text) noexcept {
    std::memcpy(field, text, std::min(std::strlen(text), room - 1));
}

Kind kind_of(ElementKind kind) noexcept {
    switch (kind) {
    case ElementKind::floating:
        return Kind::floating;
    case ElementKind::signed_integer:
        return Kind::signed_integer;
    case ElementKind::unsigned_integer:
        return Kind::unsigned_integer;
    default:
        return Kind::other;
    }
}

/// Adds one more result or message to a row.
void add(Result& row, uint64_t digest, const void* data, size_t bytes, Element element) noexcept {
    row.digest = digest;
    ++row.results;
    row.kind = uint32_t(kind_of(element.kind));
    row.width = element.width;
    row.bytes = uint32_t(bytes);
    std::memcpy(row.last, data, std::min<size_t>(bytes, last_bytes));
}

}  // namespace

bool read_mark(std::string_view text, Mark& mark) noexcept {
    mark = {};
    std::string_view numbers, last, communicator;
    if (!cut_last(text, ":", numbers) || !cut_last(numbers, ",", last) || !read_number(numbers, mark.first) ||
        !read_number(last, mark.last) || mark.first < 1 || mark.last <= mark.first)
        return false;
    // The function has no @, a file may.
    const size_t at = text.find('@');
    if (at == std::string_view::npos || at == 0)
        return false;
    mark.function = text.substr(0, at);
    text = text.substr(at + 1);
    return cut_last(text, "@", communicator) && read_place(text, mark) &&
           read_communicator(communicator, mark);
}

bool Marks::open(const Arming& arming, const char*& reason) noexcept {
    constexpr uint64_t tables = sizeof(MarkCommunicator) * communicator_count +
                                sizeof(Module) * module_count + sizeof(Result) * result_count;
    const uint64_t bytes = sizeof(Head) + (arming.mark ? tables : 0);
    auto* head =
        static_cast<Head*>(map_rank_file(path_, arming.directory, arming.world_rank, "marks", bytes, reason));
    if (!head)
        return false;
    head->version = format_version;
    head->state = uint32_t(State::running);
    head->bytes = bytes;
    head->world_rank = arming.world_rank;
    head->world_size = arming.world_size;
    head->thread_level = uint32_t(arming.thread_level);
    head->job = arming.job;
    head->begin_unix_ns = arming.begin_unix_ns;
    head->init_entered_ns = arming.init_entered_ns;
    head->next = head->stride = 1;
    std::memcpy(head->mark, arming.text, std::min(std::strlen(arming.text), sizeof head->mark - 1));
    many_threads_ = arming.many_threads;
    locate_ = arming.locate;
    if (many_threads_)
        head->flags = uint32_t(Flag::thread_multiple);
    if (arming.mark) {
        mark_ = *arming.mark;
        any_place_ = mark_.module.empty();
        any_communicator_ = mark_.ranks == 0;
        head->first = mark_.first;
        head->last = mark_.last;
        communicators_ = reinterpret_cast<MarkCommunicator*>(head + 1);
        modules_ = reinterpret_cast<Module*>(communicators_ + communicator_count);
        results_ = reinterpret_cast<Result*>(modules_ + module_count);
    }
    upcoming_ = 1;
    std::memcpy(head->magic, file_magic, sizeof head->magic);
    head_ = head;
    return true;
}

uint32_t Marks::add_communicator(uint32_t ranks) noexcept {
    const Held held(lock_, many_threads_);
    const uint32_t row = head_->communicators;
    if (row >= no_communicator)
        return no_communicator;
    const auto birth =
        uint32_t(std::count_if(communicators_, communicators_ + row,
                               [&](const MarkCommunicator& other) { return other.ranks == ranks; }));
    communicators_[row] = {ranks, birth};
    head_->communicators = row + 1;
    if (ranks == mark_.ranks && birth == mark_.birth)
        communicator_ = row;
    return row;
}

bool Marks::is_place(uint64_t address) noexcept {
    Place& place = places_[spread(address) >> 58];
    static_assert(place_slots == 1u << (64 - 58));
    if (place.address != address) [[unlikely]] {
        Location location;
        locate_(address, location);
        place = {address, location.offset == mark_.offset && mark_.module == location.module};
    }
    return place.is_mark;
}

uint64_t Marks::next_stop() const noexcept {
    uint64_t stop = head_->next;
    for (const uint64_t number : {head_->first, head_->last - 1, head_->last})
        if (number > head_->calls)
            stop = std::min(stop, number);
    return stop;
}

void Marks::cross(Crossing& crossing, uint64_t now) noexcept {
    crossing.counts = head_->so_far;
    __atomic_store_n(&crossing.ns, now, __ATOMIC_RELEASE);
}

Passed Marks::reach() noexcept {
    const uint64_t now = now_ns();
    Head& head = *head_;
    if (head.calls == head.next)
        keep_time(head, head.times_ns, now);
    upcoming_ = next_stop();
    if (head.calls == head.first)
        cross(head.at_first, now);
    if (head.calls == head.last)
        cross(head.at_last, now);
    return head.calls == head.last       ? Passed::last
           : head.calls + 1 == head.last ? Passed::before_last
           : head.calls == head.first    ? Passed::first
                                         : Passed::neither;
}

uint32_t Marks::module_row(const char* name) noexcept {
    for (uint32_t row = 0; row < head_->modules; ++row)
        if (std::strcmp(modules_[row].name, name) == 0)
            return row;
    if (head_->modules == module_count)
        return module_count - 1;
    put_text(modules_[head_->modules].name, name);
    // The last row is not known to be one file's.
    if (head_->modules == module_count - 1)
        modules_[head_->modules] = {};
    return head_->modules++;
}

Result* Marks::result_row(uint64_t address, uint32_t function, const char* name,
                          uint32_t communicator) noexcept {
    uint32_t slot = uint32_t(spread(address ^ uint64_t(function) << 48 ^ uint64_t(communicator) << 32) >> 55);
    static_assert(result_slots == 1u << (64 - 55));
    for (; result_index_[slot]; slot = (slot + 1) % result_slots) {
        const uint32_t row = result_index_[slot] - 1u;
        const Source& source = sources_[row];
        if (source.address == address && source.function == function && source.communicator == communicator)
            return &results_[row];
    }
    if (head_->results == result_count) {
        ++head_->lost;
        return nullptr;
    }
    Location location;
    locate_(address, location);
    const uint32_t row = head_->results;
    Result& result = results_[row];
    result.offset = location.offset;
    result.module = module_row(location.module);
    result.communicator = communicator;
    put_text(result.function, name);
    sources_[row] = {address, function, communicator};
    result_index_[slot] = uint16_t(row + 1);
    head_->results = row + 1;
    return &result;
}

void Marks::add_result(uint64_t address, uint32_t function, const char* name, uint32_t communicator,
                       const void* result, size_t bytes, Element element) noexcept {
    if (Result* row = result_row(address, function, name, communicator))
        add(*row, take_result(row->digest, result, bytes), result, bytes, element);
}

void Marks::add_message(uint64_t address, uint32_t function, const char* name, uint32_t communicator,
                        const void* message, size_t bytes, Element element) noexcept {
    if (Result* row = result_row(address, function, name, communicator))
        add(*row, row->digest + take_message(message, bytes), message, bytes, element);
}

}  // namespace mpiric::marks
