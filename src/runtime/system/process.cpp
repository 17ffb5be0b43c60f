// Facts about this process from /proc, perf_event, and the driver of a GPU.
#include "system/process.hpp"

#include "allocator/totals.hpp"
#include "base/clock.hpp"
#include "system/secrets.hpp"
#include "system/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <initializer_list>
#include <iterator>
#include <link.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpiric::system {

void add_number(AddFact add_fact, const char* key, uint64_t value) noexcept {
    char text[24];
    std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(value));
    add_fact(key, text);
}

namespace {

/// Hardware counters of this process through perf_event, where the kernel and the machine allow it.
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

/// Totals of the kernel: lines of /proc/self/io; facts are differences.
struct IoTotal {
    const char *label, *key;
};
constexpr IoTotal io_totals[] = {
    {"syscr:", "io.read_calls"},           {"syscw:", "io.write_calls"},
    {"rchar:", "io.read_bytes"},           {"wchar:", "io.written_bytes"},
    {"read_bytes:", "io.disk_read_bytes"}, {"write_bytes:", "io.disk_written_bytes"},
};
using IoTotals = std::array<uint64_t, std::size(io_totals)>;

/// Resources used before the first call of MPI: by reading input, loading libraries, or an interpreter.
struct UsedBefore {
    uint64_t user_us, system_us, minor_faults;
};

struct State {
    IoTotals at_begin{};
    UsedBefore before_mpi{};
    int counter_files[std::size(counters)] = {-1, -1, -1, -1};  ///< files of perf_event
};
constinit State state;

/// To count huge pages the kernel walks the page tables: almost a millisecond, which many ranks on a CPU
/// would wait for one after the other. With less memory huge pages do not matter.
constexpr uint64_t worth_a_walk_kib = 16u << 10;

constexpr size_t touched_pages = 64;

IoTotals read_io_totals() noexcept {
    IoTotals totals;
    char text[512];
    read_file("/proc/self/io", text, sizeof text);
    std::transform(std::begin(io_totals), std::end(io_totals), totals.begin(),
                   [&](const IoTotal& total) { return number_after(text, total.label); });
    return totals;
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

void add_link(AddFact add_fact, const char* key, const char* path) noexcept {
    char text[1024];
    const ssize_t length = readlink(path, text, sizeof text - 1);
    if (length <= 0)
        return;
    text[length] = '\0';
    add_fact(key, text);
}

void add_program(AddFact add_fact) noexcept {
    add_link(add_fact, "executable", "/proc/self/exe");
    char text[1024], command[1024];
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

/// Starts the counters for this thread and threads that it makes from now on.
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

/// Adds `counter.<name>`, scaled if the kernel had to share the hardware, and closes the counters.
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

constexpr int most_threads = 256;  // more would crowd out other facts

struct DirectoryEntry {
    uint64_t inode, offset;
    unsigned short length;
    unsigned char type;
    char name[1];
};

/// Field of /proc/<pid>/stat by its number in proc(5), of those after the name, which may hold anything.
uint64_t stat_field(const char* text, int number) noexcept {
    const char* at = std::strrchr(text, ')');
    for (int field = 2; at && field < number; ++field)
        at = std::strchr(at + 1, ' ');
    return at ? std::strtoull(at + 1, nullptr, 10) : 0;
}

void add_thread(AddFact add_fact, const char* id) noexcept {
    char path[64], stat[1024], name[32], cpus[256], key[32], value[400];
    std::snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", id);
    if (!read_file(path, stat, sizeof stat))
        return;
    std::snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", id);
    const size_t length = read_file(path, name, sizeof name);
    if (length)
        name[length - 1] = '\0';
    unsigned long mask[1024] = {};
    const long bytes = syscall(SYS_sched_getaffinity, std::strtol(id, nullptr, 10), sizeof mask, mask);
    render_cpus(mask, bytes > 0 ? size_t(bytes) * 8 : 0, cpus, sizeof cpus);
    std::snprintf(key, sizeof key, "thread.%.20s", id);
    std::snprintf(value, sizeof value, "%s cpu=%llu affinity=%s user_ticks=%llu system_ticks=%llu", name,
                  static_cast<unsigned long long>(stat_field(stat, 39)), cpus,
                  static_cast<unsigned long long>(stat_field(stat, 14)),
                  static_cast<unsigned long long>(stat_field(stat, 15)));
    add_fact(key, value);
}

/// Adds `thread.<tid>` as `<name> cpu=<last> affinity=<list> user_ticks=<n> system_ticks=<n>` for each
/// thread that lives.
void add_threads(AddFact add_fact) noexcept {
    const int directory =
        int(syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory < 0)
        return;
    alignas(DirectoryEntry) char entries[8192];
    int added = 0;
    for (long bytes;
         (bytes = syscall(SYS_getdents64, directory, entries, sizeof entries)) > 0 && added < most_threads;)
        for (long at = 0; at < bytes && added < most_threads;) {
            const auto* entry = reinterpret_cast<const DirectoryEntry*>(entries + at);
            if (std::isdigit(static_cast<unsigned char>(entry->name[0]))) {
                add_thread(add_fact, entry->name);
                ++added;
            }
            at += entry->length;
        }
    syscall(SYS_close, directory);
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

/// Functions of a library that gives a program its GPUs: the device that the calling thread computes on, and
/// the PCI bus of a device. Both return 0 for success.
struct GpuLibrary {
    const char *name, *device, *bus;
};

constexpr GpuLibrary gpu_libraries[] = {
    {"libcuda.so", "cuCtxGetDevice", "cuDeviceGetPCIBusId"},
    {"libamdhip64.so", "hipGetDevice", "hipDeviceGetPCIBusId"},
};

/// The path of a loaded library; null when it is not loaded.
const char* loaded_library(const char* name) noexcept {
    struct Search {
        const char *name, *path;
    } search{name, nullptr};
    auto compare = [](dl_phdr_info* object, size_t, void* data) {
        auto& search = *static_cast<Search*>(data);
        if (object->dlpi_name && std::strstr(object->dlpi_name, search.name))
            search.path = object->dlpi_name;
        return int(search.path != nullptr);
    };
    dl_iterate_phdr(compare, &search);
    return search.path;
}

/// Adds the PCI bus of the GPU that this thread computes on. The program may have loaded the library for
/// itself alone, so its functions are asked of the library.
void add_gpu(AddFact add_fact, const GpuLibrary& library) noexcept {
    const char* path = loaded_library(library.name);
    void* handle = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    if (!handle)
        return;
    const auto device_of = reinterpret_cast<int (*)(int*)>(dlsym(handle, library.device));
    const auto bus_of = reinterpret_cast<int (*)(char*, int, int)>(dlsym(handle, library.bus));
    int device = 0;
    char bus[32] = {};
    if (device_of && bus_of && device_of(&device) == 0 && bus_of(bus, sizeof bus, device) == 0)
        add_fact("gpu", bus);
    dlclose(handle);
}

/// Adds the driver of an accelerator, if it is loaded, and the GPU of this rank.
void add_gpus(AddFact add_fact) noexcept {
    if (!device_driver_loaded())
        return;
    add_fact("gpu.driver", "1");
    for (const GpuLibrary& library : gpu_libraries)
        add_gpu(add_fact, library);
    if (const char* allotted = std::getenv("SLURM_GPUS_ON_NODE"))
        add_fact("gpu.allotted", allotted);
}

}  // namespace

bool device_driver_loaded() noexcept {
    for (const char* name : {"libcuda.so", "libamdhip64.so", "libhsa-runtime64.so", "libze_loader.so"})
        if (loaded_library(name))
            return true;
    return false;
}

void take_usage_before_mpi() noexcept {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    state.before_mpi = {microseconds(used.ru_utime), microseconds(used.ru_stime), uint64_t(used.ru_minflt)};
}

void add_start_facts(AddFact add_fact, bool counters) noexcept {
    state.at_begin = read_io_totals();
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
    // Ranks in different namespaces of users or processes may not read each other's memory.
    add_link(add_fact, "namespace.user", "/proc/self/ns/user");
    add_link(add_fact, "namespace.pid", "/proc/self/ns/pid");
    if (counters)
        open_counters();
}

void add_end_facts(AddFact add_fact) noexcept {
    const IoTotals totals = read_io_totals();
    for (size_t at = 0; at < totals.size(); ++at)
        add_number(add_fact, io_totals[at].key, totals[at] - state.at_begin[at]);
    add_memory(add_fact);
    add_fault_cost(add_fact);
    add_counters(add_fact);
    add_threads(add_fact);
    add_gpus(add_fact);
}

}  // namespace mpiric::system
