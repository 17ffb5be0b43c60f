#include "system/process.hpp"

#include "system/counters.hpp"
#include "system/text.hpp"
#include "system/threads.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpiric::system {
namespace {

/// For what lies on huge pages the kernel walks the page tables: the better part of a millisecond, which many
/// ranks on a CPU would wait for one after the other. Where there is less memory it does not matter.
constexpr uint64_t worth_a_walk_kib = 16u << 10;

/// Totals of the kernel at one moment; facts are differences.
struct Totals {
    uint64_t read_calls, write_calls, read_bytes, written_bytes, disk_read_bytes, disk_written_bytes;
};
constinit Totals at_begin{};

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

void tell_number(Tell tell, const char* key, uint64_t value) noexcept {
    char text[24];
    std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(value));
    tell(key, text);
}

void tell_place(Tell tell) noexcept {
    unsigned cpu = 0, node = 0;
    if (syscall(SYS_getcpu, &cpu, &node, nullptr) == 0) {
        tell_number(tell, "cpu", cpu);
        tell_number(tell, "numa_node", node);
    }
    unsigned long mask[1024] = {};
    char cpus[512];
    const long bytes = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
    if (bytes > 0) {
        render_cpus(mask, size_t(bytes) * 8, cpus, sizeof cpus);
        tell("affinity", cpus);
    }
}

void tell_program(Tell tell) noexcept {
    char text[1024];
    const ssize_t length = readlink("/proc/self/exe", text, sizeof text - 1);
    if (length > 0) {
        text[length] = '\0';
        tell("executable", text);
    }
    const size_t read = read_file("/proc/self/cmdline", text, sizeof text);
    for (size_t at = 0; at + 1 < read; ++at)
        if (text[at] == '\0')
            text[at] = ' ';
    tell("command", text);
}

void tell_memory(Tell tell) noexcept {
    char text[4096];
    read_file("/proc/self/status", text, sizeof text);
    tell_number(tell, "memory.peak_kib", number_after(text, "VmHWM:"));
    tell_number(tell, "threads", number_after(text, "Threads:"));
    tell_number(tell, "memory.resident_kib", number_after(text, "VmRSS:"));
    const uint64_t anonymous_kib = number_after(text, "RssAnon:");
    tell_number(tell, "memory.anonymous_kib", anonymous_kib);
    tell_number(tell, "memory.swapped_kib", number_after(text, "VmSwap:"));
    if (anonymous_kib < worth_a_walk_kib)
        return;
    read_file("/proc/self/smaps_rollup", text, sizeof text);
    tell_number(tell, "memory.huge_kib", number_after(text, "AnonHugePages:"));
}

}  // namespace

uint64_t job() noexcept {
    uint64_t hash = 0xCBF29CE484222325ull;
    auto add = [&](const char* text) {
        for (; *text; ++text)
            hash = (hash ^ uint64_t(uint8_t(*text))) * 0x100000001B3ull;
    };
    bool named = false;
    for (const char* name :
         {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_KVSNAME", "SLURM_JOB_ID", "SLURM_STEP_ID"})
        if (const char* value = std::getenv(name)) {
            add(value);
            named = true;
        }
    if (!named) {
        char host[65] = {};
        gethostname(host, sizeof host - 1);
        add(host);
        hash ^= uint64_t(getppid()) * 0x9E3779B97F4A7C15ull;
    }
    return hash;
}

void tell_beginning(Tell tell, bool counters) noexcept {
    at_begin = now();
    char host[65] = {};
    gethostname(host, sizeof host - 1);
    tell("host", host);
    tell_number(tell, "process", uint64_t(getpid()));
    tell_program(tell);
    tell_place(tell);
    if (counters)
        open_counters();
}

void tell_end(Tell tell) noexcept {
    const Totals totals = now();
    tell_number(tell, "io.read_calls", totals.read_calls - at_begin.read_calls);
    tell_number(tell, "io.write_calls", totals.write_calls - at_begin.write_calls);
    tell_number(tell, "io.read_bytes", totals.read_bytes - at_begin.read_bytes);
    tell_number(tell, "io.written_bytes", totals.written_bytes - at_begin.written_bytes);
    tell_number(tell, "io.disk_read_bytes", totals.disk_read_bytes - at_begin.disk_read_bytes);
    tell_number(tell, "io.disk_written_bytes", totals.disk_written_bytes - at_begin.disk_written_bytes);
    tell_memory(tell);
    tell_counters(tell);
    tell_threads(tell);
}

}  // namespace mpiric::system
