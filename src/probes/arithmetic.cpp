#include "arithmetic.hpp"

#include "process.hpp"

#include <array>
#include <barrier>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

namespace mpiric::probes {
namespace {

constexpr std::size_t chains = 32;  // independent, so that the units are busy and not their latency
constexpr int steps = 4000;         // between two reads of the clock, about 30 µs
constexpr double flops = 2.0 * steps * chains;

double block(std::array<double, chains>& values) {
    for (int step = 0; step < steps; ++step) {
        for (double& value : values) {
            value = value * 0.999999 + 1e-6;
        }
    }
    return flops;
}

long frequency_khz(int pu) {
    long khz = 0;
    std::ifstream{"/sys/devices/system/cpu/cpu" + std::to_string(pu) + "/cpufreq/scaling_cur_freq"} >> khz;
    return khz;
}

CoreSpeed run(int pu, double seconds) {
    using Clock = std::chrono::steady_clock;
    std::array<double, chains> values{};
    double done = 0.0;
    double elapsed_s = 0.0;
    const auto start = Clock::now();
    while (elapsed_s < seconds) {
        done += block(values);
        elapsed_s = std::chrono::duration<double>(Clock::now() - start).count();
    }
    // The result is used, so that the compiler keeps the loop; every value stays between 0 and 1.
    const bool right = values[0] >= 0.0 && values[chains - 1] <= 1.0;
    return {.gflop_s = right ? done / elapsed_s * 1e-9 : 0.0, .khz = frequency_khz(pu)};
}

}  // namespace

std::vector<CoreSpeed> core_speeds(const std::vector<int>& pus, double seconds) {
    std::vector<CoreSpeed> speeds(pus.size());
    std::barrier together{static_cast<std::ptrdiff_t>(pus.size())};
    std::vector<std::jthread> threads;
    threads.reserve(pus.size());
    for (std::size_t member = 0; member < pus.size(); ++member) {
        threads.emplace_back([&, member] {
            const bool bound = bind_to_pu(pus[member]);
            together.arrive_and_wait();
            speeds[member] = bound ? run(pus[member], seconds) : CoreSpeed{.gflop_s = 0.0, .khz = 0};
        });
    }
    threads.clear();  // joins
    return speeds;
}

}  // namespace mpiric::probes
