// The file of one rank: given all its room at once, mapped. A full disk must be an error here and now, not a
// SIGBUS in the middle of the program.
#include "base/own_file.hpp"
#include "marks/marks.hpp"

#include <algorithm>
#include <cstring>

namespace mpiric::marks {

bool Marks::open(const Arming& arming, const char*& reason) noexcept {
    constexpr uint64_t tables = sizeof(MarkCommunicator) * communicator_count +
                                sizeof(Module) * module_count + sizeof(Result) * result_count;
    const uint64_t bytes = sizeof(Head) + (arming.mark ? tables : 0);
    auto* head = static_cast<Head*>(
        map_rank_file(path_, arming.directory, arming.world_rank, "marks", bytes, reason));
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

}  // namespace mpiric::marks
