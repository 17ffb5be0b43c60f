// probe-stream: memory bandwidth of selected hardware threads, by the triad of STREAM (McCalpin).
//
//   probe-stream [--mib N] [--repeats N] [--ms N] [PU…]    without PUs: all PUs that this process may use
//
// Makes at least two repeats, and further ones while their time limit is not reached.
// a[i] = b[i] + s * c[i], one thread per PU, bound before it touches its share of the arrays, so that the
// memory is on its own node. Counts 24 bytes per element, as STREAM does (no write-allocate).
#include "process.hpp"

#include <algorithm>
#include <barrier>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <unistd.h>

namespace {

using mpiric::probes::allowed_pus;
using mpiric::probes::bind_to_pu;
using mpiric::probes::json_numbers;

constexpr long mib = 1048576;
constexpr double scale = 3.0;

struct Request {
    std::vector<int> pus;
    long array_bytes = 0;  // size of one array, all threads together
    int repeats = 12;
    int limit_ms = 60'000;
};

// Four times the last-level cache, as STREAM requires, at least 128 MiB and at most 1/16 of the memory.
long default_array_bytes() {
    const long cache = std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), 0L);
    const long memory = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    return std::min(std::max(4 * cache, 128 * mib), memory / 16);
}

std::optional<int> number_of(const char* text) {
    int number = 0;
    const char* const end = text + std::strlen(text);
    const auto parsed = std::from_chars(text, end, number);
    return parsed.ec == std::errc{} && parsed.ptr == end && number >= 0 ? std::optional{number}
                                                                        : std::nullopt;
}

std::optional<Request> request_of(int argc, char** argv) {
    Request request;
    request.array_bytes = default_array_bytes();
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        const bool named = word == "--mib" || word == "--repeats" || word == "--ms";
        const auto number = named && ++i == argc ? std::nullopt : number_of(argv[i]);
        if (!number || (named && *number == 0)) {
            return std::nullopt;
        }
        if (word == "--mib") {
            request.array_bytes = *number * mib;
        } else if (word == "--repeats") {
            request.repeats = *number;
        } else if (word == "--ms") {
            request.limit_ms = *number;
        } else {
            request.pus.push_back(*number);
        }
    }
    if (request.pus.empty()) {
        request.pus = allowed_pus();
    }
    return request;
}

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

// Seconds of each repeat; empty if a PU cannot be used or a result is wrong.
std::vector<double> run(const Request& request) {
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
            const auto begin = Clock::now();
            while (true) {
                together.arrive_and_wait();
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
                std::fprintf(stderr, "probe-stream: PU %d may not be used\n", request.pus[member]);
            }
        });
    }
    threads.clear();  // joins
    const bool all_good = std::all_of(good.begin(), good.end(), [](char is_good) { return is_good != 0; });
    return all_good ? seconds : std::vector<double>{};
}

}  // namespace

int main(int argc, char** argv) {
    const auto request = request_of(argc, argv);
    if (!request) {
        std::fputs("usage: probe-stream [--mib N] [--repeats N] [--ms N] [PU...]\n", stderr);
        return 2;
    }
    std::vector<double> seconds = run(*request);
    if (seconds.empty()) {
        return EXIT_FAILURE;
    }
    std::sort(seconds.begin(), seconds.end());
    const double megabytes = 3.0 * static_cast<double>(request->array_bytes) * 1e-6;
    std::printf(
        "{\"pus\":%s,\"array_bytes\":%ld,\"repeats\":%zu,\"triad_mb_s\":%.1f,\"triad_mb_s_median\":%.1f}\n",
        json_numbers(request->pus).c_str(), request->array_bytes, seconds.size(), megabytes / seconds.front(),
        megabytes / seconds[seconds.size() / 2]);
    return EXIT_SUCCESS;
}
