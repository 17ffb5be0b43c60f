#include "order/order.hpp"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpiric::order {
namespace {

/// The text of a file; not through open() and read(), which may be our own wrappers.
bool read_file(const char* path, std::string& text) {
    const int file = int(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
    if (file < 0)
        return false;
    char part[1 << 16];
    long got = 0;
    while ((got = syscall(SYS_read, file, part, sizeof part)) > 0)
        text.append(part, size_t(got));
    const int error = errno;
    syscall(SYS_close, file);
    errno = error;
    return got == 0;
}

std::string_view trimmed(std::string_view line) {
    line = line.substr(0, line.find('#'));
    const auto first = line.find_first_not_of(" \t\r");
    if (first == line.npos)
        return {};
    return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

/// Takes the slots of all lines; the problem with the first line that has one, empty when none has.
std::string take_slots(std::string_view text, int32_t size, std::vector<int32_t>& slots) {
    std::vector<bool> taken(static_cast<size_t>(size), false);
    for (int number = 1; !text.empty(); ++number) {
        const auto end = text.find('\n');
        const std::string_view word = trimmed(text.substr(0, end));
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
        if (word.empty())
            continue;
        const std::string where = "line " + std::to_string(number) + ": ";
        int32_t slot = -1;
        const auto read = std::from_chars(word.data(), word.data() + word.size(), slot);
        if (read.ec != std::errc{} || read.ptr != word.data() + word.size())
            return where + "`" + std::string(word.substr(0, 40)) + "` is not the number of a slot";
        if (slot < 0 || slot >= size)
            return where + "slot " + std::to_string(slot) + " is none of the " + std::to_string(size) +
                   " of this run";
        if (taken[size_t(slot)])
            return where + "slot " + std::to_string(slot) + " is taken twice";
        taken[size_t(slot)] = true;
        slots.push_back(slot);
    }
    if (slots.size() != size_t(size))
        return std::to_string(slots.size()) + " slots for " + std::to_string(size) + " ranks";
    return "";
}

}  // namespace

SlotOrder read_order(const char* path, int32_t size) noexcept {
    SlotOrder order;
    try {
        std::string text;
        order.problem = std::string(path) + ": ";
        if (!read_file(path, text)) {
            order.problem += std::strerror(errno);
            return order;
        }
        const std::string problem = take_slots(text, size, order.slots);
        order.problem = problem.empty() ? "" : order.problem + problem;
    } catch (const std::exception&) {
        order.problem.assign("no memory");  // short enough to need none
    }
    if (!order.is_valid())
        order.slots.clear();
    return order;
}

std::vector<int32_t> ranks_by_slot(std::span<const int32_t> slots) {
    std::vector<int32_t> ranks(slots.size());
    for (size_t rank = 0; rank < slots.size(); ++rank)
        ranks[size_t(slots[rank])] = int32_t(rank);
    return ranks;
}

}  // namespace mpiric::order
