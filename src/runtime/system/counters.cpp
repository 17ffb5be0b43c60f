// Hardware counters of this process through perf_event, where the kernel and the machine allow it.
#include "system/process.hpp"
#include "system/state.hpp"

#include <cstdio>
#include <cstring>
#include <iterator>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpiric::system {
namespace {

struct Counter {
    const char* key;
    uint64_t event;
};

constexpr Counter counters[] = {
    {"counter.instructions", PERF_COUNT_HW_INSTRUCTIONS},
    {"counter.cycles", PERF_COUNT_HW_CPU_CYCLES},
    {"counter.last_level_references", PERF_COUNT_HW_CACHE_REFERENCES},
    {"counter.last_level_misses", PERF_COUNT_HW_CACHE_MISSES},
};
static_assert(std::size(counters) == std::size(State{}.counter_files));

}  // namespace

void open_counters() noexcept {
    for (size_t at = 0; at < std::size(counters); ++at) {
        perf_event_attr wanted{};
        wanted.size = sizeof wanted;
        wanted.type = PERF_TYPE_HARDWARE;
        wanted.config = counters[at].event;
        wanted.inherit = 1;
        wanted.exclude_kernel = 1;
        wanted.exclude_hv = 1;
        wanted.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        state.counter_files[at] = int(syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
    }
}

void add_counters(AddFact add_fact) noexcept {
    for (size_t at = 0; at < std::size(counters); ++at) {
        const int file = state.counter_files[at];
        if (file < 0)
            continue;
        struct {
            uint64_t value, enabled_ns, running_ns;
        } reading{};
        if (syscall(SYS_read, file, &reading, sizeof reading) == long(sizeof reading) &&
            reading.running_ns > 0) {
            const double scale = double(reading.enabled_ns) / double(reading.running_ns);
            char text[24];
            std::snprintf(text, sizeof text, "%.0f", double(reading.value) * scale);
            add_fact(counters[at].key, text);
        }
        syscall(SYS_close, file);
        state.counter_files[at] = -1;
    }
}

}  // namespace mpiric::system
