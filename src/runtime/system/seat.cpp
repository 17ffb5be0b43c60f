// Finds the NUMA domain and the package that hold all CPUs of a process.
#include "system/process.hpp"

#include "system/text.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpiric::system {
namespace {

constexpr int unknown = -1;
constexpr size_t word = 8 * sizeof(unsigned long);

class Cpus {
  public:
    Cpus(const unsigned long* mask, size_t bits) noexcept : mask_(mask), bits_(bits) {}

    bool has(size_t cpu) const noexcept { return mask_[cpu / word] >> (cpu % word) & 1; }
    size_t bits() const noexcept { return bits_; }
    /// Number of CPUs in a range.
    size_t between(size_t first, size_t last) const noexcept {
        size_t found = 0;
        for (size_t cpu = first; cpu <= last && cpu < bits_; ++cpu)
            found += has(cpu);
        return found;
    }
    /// Number of CPUs that are in a list of ranges.
    size_t among(const char* list) const noexcept {
        size_t found = 0;
        for (Range range; next_range(list, range);)
            found += between(range.first, range.last);
        return found;
    }

  private:
    const unsigned long* mask_;
    size_t bits_;
};

/// Reads a file; false when there is none, or it is longer than the room.
template <size_t room> bool read_whole(const char* path, char (&text)[room]) noexcept {
    const size_t length = read_file(path, text, room);
    return length > 0 && length < room - 1;
}

/// The domain that has all of the CPUs. Domains of memory alone have an empty list.
int domain_of(const char* sysfs, const Cpus& cpus, size_t all) noexcept {
    char path[256], domains[1024], list[8192];
    std::snprintf(path, sizeof path, "%s/devices/system/node/online", sysfs);
    if (!read_whole(path, domains))
        return unknown;
    const char* rest = domains;
    for (Range range; next_range(rest, range);)
        for (size_t domain = range.first; domain <= range.last; ++domain) {
            std::snprintf(path, sizeof path, "%s/devices/system/node/node%zu/cpulist", sysfs, domain);
            if (!read_whole(path, list))
                return unknown;
            if (const size_t inside = cpus.among(list))
                return inside == all ? int(domain) : unknown;
        }
    return unknown;
}

int package_of_cpu(const char* sysfs, size_t cpu) noexcept {
    char path[256], text[32];
    std::snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%zu/topology/physical_package_id", sysfs, cpu);
    return read_whole(path, text) ? std::max(unknown, int(std::strtol(text, nullptr, 10))) : unknown;
}

/// The package that has all of the CPUs.
int package_of(const char* sysfs, const Cpus& cpus) noexcept {
    int package = unknown;
    for (size_t cpu = 0; cpu < cpus.bits(); ++cpu) {
        if (!cpus.has(cpu))
            continue;
        const int next = package_of_cpu(sysfs, cpu);
        if (next == unknown || (package != unknown && next != package))
            return unknown;
        package = next;
    }
    return package;
}

}  // namespace

Seat read_seat(const char* sysfs, const unsigned long* mask, size_t bits) noexcept {
    const Cpus cpus{mask, bits};
    const size_t all = bits ? cpus.between(0, bits - 1) : 0;
    return {domain_of(sysfs, cpus, all), package_of(sysfs, cpus)};
}

Seat own_seat() noexcept {
    unsigned long mask[1024] = {};
    const long bytes = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
    return bytes > 0 ? read_seat("/sys", mask, size_t(bytes) * 8) : Seat{};
}

}  // namespace mpiric::system
