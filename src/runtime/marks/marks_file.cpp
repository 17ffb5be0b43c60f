// The file of one rank: given all its room at once, mapped. A full disk must be an error here and now, not a
// SIGBUS in the middle of the program.
#include "base/own_file.hpp"
#include "marks/marks.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mpiric::marks {

Head* Marks::map_file(uint64_t bytes, const char*& reason) noexcept {
    return static_cast<Head*>(map_new_file(path_, bytes, reason));
}

bool Marks::open(const Arming& arming, const char*& reason) noexcept {
    char host[65] = {};
    gethostname(host, sizeof host - 1);
    const int wanted = std::snprintf(path_, sizeof path_, "%s/rank-%d.%s.%d.marks", arming.directory,
                                     arming.world_rank, host, int(getpid()));
    if (wanted < 0 || size_t(wanted) >= sizeof path_) {
        reason = "the path is too long";
        return false;
    }
    mkdir(arming.directory, 0755);
    constexpr uint64_t tables = sizeof(MarkCommunicator) * communicator_count +
                                sizeof(Module) * module_count + sizeof(Result) * result_count;
    const uint64_t bytes = sizeof(Head) + (arming.mark ? tables : 0);
    Head* head = map_file(bytes, reason);
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
