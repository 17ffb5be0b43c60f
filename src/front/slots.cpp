#include "slots.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <sched.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace mpiric::front {
namespace {

std::optional<int> number_in(std::string_view digits) {
    int value = 0;
    const std::string text{digits};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error == std::errc{} && end == text.data() + text.size() && value >= 0;
    return is_number ? std::optional{value} : std::nullopt;
}

unsigned cpus() {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 1;
}

bool is_pipe(int file) {
    struct stat state{};
    return fstat(file, &state) == 0 && S_ISFIFO(state.st_mode);
}

// The number of running or runnable threads follows the three averages: "0.20 0.18 0.12 1/80 11206".
bool is_a_cpu_idle() {
    const int file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return true;
    char text[128] = "";
    const ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    std::string_view left{text, length > 0 ? static_cast<std::size_t>(length) : 0};
    for (int skipped = 0; skipped < 3; ++skipped)
        left.remove_prefix(std::min(left.size(), left.find(' ') + 1));
    long running = 0;
    std::from_chars(left.data(), left.data() + left.size(), running);
    return running - 1 < sysconf(_SC_NPROCESSORS_ONLN);  // one is this process, asking
}

// Of several, the last counts: a make below another adds its own.
std::string_view job_server(std::string_view makeflags) {
    for (const std::string_view name : {"--jobserver-auth=", "--jobserver-fds="}) {
        const auto at = makeflags.rfind(name);
        if (at == std::string_view::npos)
            continue;
        const auto rest = makeflags.substr(at + name.size());
        return rest.substr(0, rest.find(' '));
    }
    return "";
}

}  // namespace

Slots::Slots() {
    const char* jobs = std::getenv("MPIRIC_JOBS");
    const int asked = number_in(jobs != nullptr ? jobs : "").value_or(0);
    const char* makeflags = std::getenv("MAKEFLAGS");
    if (asked > 0)
        free_ = static_cast<unsigned>(asked) - 1;
    else if (makeflags == nullptr || !connect(makeflags)) {
        free_ = cpus() - 1;
        only_idle_ = true;
    }
}

Slots::~Slots() {
    while (!tokens_.empty())
        give();
    if (reading_ >= 0)
        close(reading_);
    if (writing_ >= 0)
        close(writing_);
}

// True under a parallel make, also if its tokens are out of reach: it closes its pipe to commands that it
// does not take for another make. The pipe is opened anew, because non-blocking reading is a property that
// all its users share.
bool Slots::connect(const char* makeflags) {
    const auto where = job_server(makeflags);
    if (where.empty())
        return false;
    std::string from, to;
    if (where.starts_with("fifo:")) {
        from = to = where.substr(5);
    } else {
        const auto comma = where.find(',');
        const auto reading = number_in(where.substr(0, comma));
        const auto writing = comma == std::string_view::npos ? reading : number_in(where.substr(comma + 1));
        if (!reading || !writing || !is_pipe(*reading) || !is_pipe(*writing))
            return true;
        from = "/proc/self/fd/" + std::to_string(*reading);
        to = "/proc/self/fd/" + std::to_string(*writing);
    }
    reading_ = open(from.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    writing_ = open(to.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (reading_ < 0 || writing_ < 0 || !is_pipe(reading_)) {
        if (reading_ >= 0)
            close(reading_);
        reading_ = -1;
    }
    return true;
}

bool Slots::take() {
    if (reading_ >= 0) {
        char token = 0;
        if (read(reading_, &token, 1) != 1)
            return false;
        tokens_.push_back(token);
        return true;
    }
    if (free_ == 0 || (only_idle_ && !is_a_cpu_idle()))
        return false;
    --free_;
    return true;
}

void Slots::give() {
    if (reading_ < 0) {
        ++free_;
    } else if (!tokens_.empty()) {
        if (write(writing_, &tokens_.back(), 1) == 1 || errno != EINTR)
            tokens_.pop_back();
    }
}

}  // namespace mpiric::front
