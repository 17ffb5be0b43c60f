// probe-stream: memory bandwidth of selected hardware threads, by the triad of STREAM (McCalpin).
//
//   probe-stream [--mib N] [--repeats N] [--ms N] [PU…]    without PUs: all PUs that this process may use
//
// Makes at least two repeats, and further ones while their time limit is not reached.
#include "process.hpp"
#include "stream.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace {

using mpiric::probes::allowed_pus;
using mpiric::probes::default_array_bytes;
using mpiric::probes::json_numbers;
using mpiric::probes::triad_bytes;
using mpiric::probes::triad_seconds;
using mpiric::probes::TriadRequest;

constexpr long mib = 1048576;
std::optional<int> number_of(const char* text) {
    int number = 0;
    const char* const end = text + std::strlen(text);
    const auto parsed = std::from_chars(text, end, number);
    return parsed.ec == std::errc{} && parsed.ptr == end && number >= 0 ? std::optional{number}
                                                                        : std::nullopt;
}

std::optional<TriadRequest> request_of(int argc, char** argv) {
    TriadRequest request;
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

}  // namespace

int main(int argc, char** argv) {
    const auto request = request_of(argc, argv);
    if (!request) {
        std::fputs("usage: probe-stream [--mib N] [--repeats N] [--ms N] [PU...]\n", stderr);
        return 2;
    }
    std::vector<double> seconds = triad_seconds(*request);
    if (seconds.empty()) {
        return EXIT_FAILURE;
    }
    std::sort(seconds.begin(), seconds.end());
    const double megabytes = triad_bytes(*request) * 1e-6;
    std::printf(
        "{\"pus\":%s,\"array_bytes\":%ld,\"repeats\":%zu,\"triad_mb_s\":%.1f,\"triad_mb_s_median\":%.1f}\n",
        json_numbers(request->pus).c_str(), request->array_bytes, seconds.size(), megabytes / seconds.front(),
        megabytes / seconds[seconds.size() / 2]);
    return EXIT_SUCCESS;
}
