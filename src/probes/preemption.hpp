// Detects whether the kernel has taken the CPU from this thread.
#pragma once

#include <sys/resource.h>

namespace mpiric::probes {

// A thread that gives up its CPU by sched_yield also counts as switched involuntarily, but after
// microseconds. A preempted thread has used up a slice, of which the shortest is 0.7 ms
// (sysctl_sched_base_slice in kernel/sched/fair.c of Linux).
class Preemption {
  public:
    // Since the last call, or since construction.
    bool seen() {
        const Usage now = usage();
        const long switches = now.switches - last_.switches;
        const double seconds = now.cpu_s - last_.cpu_s;
        last_ = now;
        return switches > 0 && seconds / static_cast<double>(switches) >= least_slice_s;
    }

  private:
    static constexpr double least_slice_s = 0.5e-3;

    struct Usage {
        long switches;
        double cpu_s;
    };

    static double seconds(const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    }

    static Usage usage() {
        rusage used{};
        getrusage(RUSAGE_THREAD, &used);
        return {.switches = used.ru_nivcsw, .cpu_s = seconds(used.ru_utime) + seconds(used.ru_stime)};
    }

    Usage last_ = usage();
};

}  // namespace mpiric::probes
