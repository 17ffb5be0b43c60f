#include "stream.hpp"

#include "process.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <unistd.h>

namespace mpiric::probes {
namespace {

constexpr double scale = 3.0;

class Share {
  public:
    explicit Share(std::size_t elements)
        : elements_{elements}, a_{std::make_unique_for_overwrite<double[]>(elements)},
          b_{std::make_unique_for_overwrite<double[]>(elements)},
          c_{std::make_unique_for_overwrite<double[]>(elements)} {
        for (std::size_t i = 0; i < elements_; ++i) {
            a_[i] = 0.0;
            b_[i] = 2.0;
            c_[i] = static_cast<double>(i % 5);
        }
    }

    void triad() {
        double* __restrict__ const a = a_.get();
        const double* __restrict__ const b = b_.get();
        const double* __restrict__ const c = c_.get();
        for (std::size_t i = 0; i < elements_; ++i) {
            a[i] = b[i] + scale * c[i];
        }
    }

    [[nodiscard]] bool right() const {
        const std::size_t last = elements_ - 1;
        return a_[0] == 2.0 && a_[last] == 2.0 + scale * static_cast<double>(last % 5);
    }

  private:
    std::size_t elements_;
    std::unique_ptr<double[]> a_, b_, c_;
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

long default_array_bytes() {
    constexpr long mib = 1048576;
    const long cache = std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), 0L);
    const long memory = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    return std::min(std::max(4 * cache, 128 * mib), memory / 16);
}

std::vector<double> triad_seconds(const TriadRequest& request) {
    std::vector<double> seconds;
    bool enough = false;  // written by the first thread between two barriers, read by all after the second
    std::vector<char> good(request.pus.size(), 0);
    std::barrier together{static_cast<std::ptrdiff_t>(request.pus.size())};
    const auto elements = static_cast<std::size_t>(request.array_bytes) / sizeof(double) / request.pus.size();
    std::vector<std::jthread> threads;
    threads.reserve(request.pus.size());
    for (std::size_t member = 0; member < request.pus.size(); ++member) {
        threads.emplace_back([&, member] {
            const bool bound = bind_to_pu(request.pus[member]);
            Share share{std::max<std::size_t>(elements, 1)};
            Clock::time_point begin{};  // when the arrays of all members have been filled
            while (true) {
                together.arrive_and_wait();
                begin = begin == Clock::time_point{} ? Clock::now() : begin;
                if (enough) {
                    break;
                }
                const auto start = Clock::now();
                share.triad();
                together.arrive_and_wait();
                if (member == 0) {
                    seconds.push_back(seconds_since(start));
                    const bool late = seconds_since(begin) * 1e3 > request.limit_ms && seconds.size() > 1;
                    enough = late || seconds.size() == static_cast<std::size_t>(request.repeats);
                }
            }
            good[member] = bound && share.right() ? 1 : 0;
            if (!bound) {
                std::fprintf(stderr, "the triad: PU %d may not be used\n", request.pus[member]);
            }
        });
    }
    threads.clear();  // joins
    const bool all_good = std::all_of(good.begin(), good.end(), [](char is_good) { return is_good != 0; });
    return all_good ? seconds : std::vector<double>{};
}

}  // namespace mpiric::probes
