// Hardware counters of this process through perf_event, where the kernel and the machine allow it.
#include "system/process.hpp"

#include <cstdio>
#include <cstring>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpiric::system {
namespace {

struct Counter {
    const char* key;
    uint64_t event;
    int file;
};

constinit Counter counters[] = {
    {"counter.instructions", PERF_COUNT_HW_INSTRUCTIONS, -1},
    {"counter.cycles", PERF_COUNT_HW_CPU_CYCLES, -1},
    {"counter.last_level_references", PERF_COUNT_HW_CACHE_REFERENCES, -1},
    {"counter.last_level_misses", PERF_COUNT_HW_CACHE_MISSES, -1},
};

}  // namespace

void open_counters() noexcept {
    for (Counter& counter : counters) {
        perf_event_attr wanted{};
        wanted.size = sizeof wanted;
        wanted.type = PERF_TYPE_HARDWARE;
        wanted.config = counter.event;
        wanted.inherit = 1;
        wanted.exclude_kernel = 1;
        wanted.exclude_hv = 1;
        wanted.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        counter.file = int(syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
    }
}

void add_counters(AddFact add_fact) noexcept {
    for (Counter& counter : counters) {
        if (counter.file < 0)
            continue;
        struct {
            uint64_t value, enabled_ns, running_ns;
        } reading{};
        if (syscall(SYS_read, counter.file, &reading, sizeof reading) == long(sizeof reading) &&
            reading.running_ns > 0) {
            const double scale = double(reading.enabled_ns) / double(reading.running_ns);
            char text[24];
            std::snprintf(text, sizeof text, "%.0f", double(reading.value) * scale);
            add_fact(counter.key, text);
        }
        syscall(SYS_close, counter.file);
        counter.file = -1;
    }
}

}  // namespace mpiric::system
