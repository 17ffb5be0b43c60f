#include "files/state.hpp"

#include "profile/context.hpp"

#include <algorithm>

namespace mpiric::files {
namespace {

constexpr int64_t block_bytes = 4096;
constexpr uint64_t small_access_bytes = 4096;  // accesses below this size count as small

}  // namespace

void Trail::count_size(profile::File& row, uint64_t bytes) noexcept {
    row.small += bytes < small_access_bytes;
}

void Trail::count(profile::File& row, const Located& access) noexcept {
    const auto [begin, end, bytes] = access;
    count_size(row, bytes);
    row.unaligned += begin % block_bytes != 0;
    const bool has_gaps = uint64_t(end - begin) > bytes;
    const bool follows = (last_end_ < 0 || begin == last_end_) && !has_gaps;
    row.sequential += follows;
    profile::FileDetail& detail = runtime.recorder.detail(row);
    const int64_t step = begin - last_begin_;
    detail.strided += has_gaps || (!follows && step == step_);
    detail.first_byte = std::min(detail.end_byte ? detail.first_byte : uint64_t(begin), uint64_t(begin));
    detail.end_byte = std::max(detail.end_byte, uint64_t(end));
    detail.largest = std::max(detail.largest, bytes);
    step_ = step;
    pass(begin, end);
}

}  // namespace mpiric::files
