#include "system/process.hpp"

#include "allocator/totals.hpp"
#include "base/clock.hpp"
#include "system/devices.hpp"
#include "system/secrets.hpp"
#include "system/state.hpp"
#include "system/text.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpiric::system {
namespace {

/// To count huge pages the kernel walks the page tables: almost a millisecond, which many ranks on a CPU
/// would wait for one after the other. With less memory huge pages do not matter.
constexpr uint64_t worth_a_walk_kib = 16u << 10;

constexpr size_t touched_pages = 64;

Totals now() noexcept {
    Totals totals{};
    char text[512];
    read_file("/proc/self/io", text, sizeof text);
    totals.read_bytes = number_after(text, "rchar:");
    totals.written_bytes = number_after(text, "wchar:");
    totals.read_calls = number_after(text, "syscr:");
    totals.write_calls = number_after(text, "syscw:");
    totals.disk_read_bytes = number_after(text, "read_bytes:");
    totals.disk_written_bytes = number_after(text, "write_bytes:");
    return totals;
}

void add_number(AddFact add_fact, const char* key, uint64_t value) noexcept {
    char text[24];
    std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(value));
    add_fact(key, text);
}

void add_placement(AddFact add_fact) noexcept {
    unsigned cpu = 0, node = 0;
    if (syscall(SYS_getcpu, &cpu, &node, nullptr) == 0) {
        add_number(add_fact, "cpu", cpu);
        add_number(add_fact, "numa_node", node);
    }
    unsigned long mask[1024] = {};
    char cpus[512];
    const long bytes = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
    if (bytes > 0) {
        render_cpus(mask, size_t(bytes) * 8, cpus, sizeof cpus);
        add_fact("affinity", cpus);
    }
}

void add_program(AddFact add_fact) noexcept {
    char text[1024];
    const ssize_t length = readlink("/proc/self/exe", text, sizeof text - 1);
    if (length > 0) {
        text[length] = '\0';
        add_fact("executable", text);
    }
    char command[1024];
    const size_t read = read_file("/proc/self/cmdline", text, sizeof text);
    copy_masked({text, read}, command, sizeof command, shows_secrets());
    add_fact("command", command);
}

void add_memory(AddFact add_fact) noexcept {
    char text[4096];
    read_file("/proc/self/status", text, sizeof text);
    add_number(add_fact, "memory.peak_kib", number_after(text, "VmHWM:"));
    add_number(add_fact, "threads", number_after(text, "Threads:"));
    add_number(add_fact, "memory.resident_kib", number_after(text, "VmRSS:"));
    const uint64_t anonymous_kib = number_after(text, "RssAnon:");
    add_number(add_fact, "memory.anonymous_kib", anonymous_kib);
    add_number(add_fact, "memory.swapped_kib", number_after(text, "VmSwap:"));
    if (anonymous_kib < worth_a_walk_kib)
        return;
    read_file("/proc/self/smaps_rollup", text, sizeof text);
    add_number(add_fact, "memory.huge_kib", number_after(text, "AnonHugePages:"));
}

uint64_t microseconds(const timeval& time) noexcept {
    return uint64_t(time.tv_sec) * 1'000'000u + uint64_t(time.tv_usec);
}

/// Cost of the first access to a page here and now: the median of a few, about 0.1 ms in all.
void add_fault_cost(AddFact add_fact) noexcept {
    const auto page = size_t(sysconf(_SC_PAGESIZE));
    const size_t bytes = touched_pages * page;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return;
    uint64_t spent[touched_pages];
    for (size_t at = 0; at < touched_pages; ++at) {
        const uint64_t begin = now_ns();
        static_cast<volatile char*>(memory)[at * page] = 1;
        spent[at] = now_ns() - begin;
    }
    munmap(memory, bytes);
    std::nth_element(spent, spent + touched_pages / 2, spent + touched_pages);
    add_number(add_fact, "fault_ns", spent[touched_pages / 2]);
}

}  // namespace

void take_usage_before_mpi() noexcept {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    state.before_mpi = {microseconds(used.ru_utime), microseconds(used.ru_stime), uint64_t(used.ru_minflt)};
}

void add_start_facts(AddFact add_fact, bool counters) noexcept {
    state.at_begin = now();
    char host[65] = {};
    gethostname(host, sizeof host - 1);
    add_fact("host", host);
    add_number(add_fact, "process", uint64_t(getpid()));
    add_number(add_fact, "before.user_us", state.before_mpi.user_us);
    add_number(add_fact, "before.system_us", state.before_mpi.system_us);
    add_number(add_fact, "before.minor_faults", state.before_mpi.minor_faults);
    if (mpiric_allocator_totals)
        add_number(add_fact, "before.allocator_us", mpiric_allocator_totals().time_ns / 1000);
    add_program(add_fact);
    add_placement(add_fact);
    if (counters)
        open_counters();
}

void add_end_facts(AddFact add_fact) noexcept {
    const Totals totals = now();
    add_number(add_fact, "io.read_calls", totals.read_calls - state.at_begin.read_calls);
    add_number(add_fact, "io.write_calls", totals.write_calls - state.at_begin.write_calls);
    add_number(add_fact, "io.read_bytes", totals.read_bytes - state.at_begin.read_bytes);
    add_number(add_fact, "io.written_bytes", totals.written_bytes - state.at_begin.written_bytes);
    add_number(add_fact, "io.disk_read_bytes", totals.disk_read_bytes - state.at_begin.disk_read_bytes);
    add_number(add_fact, "io.disk_written_bytes",
               totals.disk_written_bytes - state.at_begin.disk_written_bytes);
    add_memory(add_fact);
    add_fault_cost(add_fact);
    add_counters(add_fact);
    add_threads(add_fact);
    if (device_driver_loaded())
        add_fact("gpu.driver", "1");
}

}  // namespace mpiric::system
