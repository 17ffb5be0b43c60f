#include "collective_results.hpp"

#include <algorithm>
#include <cstring>

namespace mpiric::probes {
namespace {

constexpr std::size_t period = 8;  // number of different addends along a buffer
constexpr unsigned char untouched = 0xff;

struct Ranks {
    std::size_t mine;
    std::size_t all;
};

Ranks ranks_of(MPI_Comm comm) {
    int mine = 0;
    int all = 0;
    MPI_Comm_rank(comm, &mine);
    MPI_Comm_size(comm, &all);
    return {.mine = static_cast<std::size_t>(mine), .all = static_cast<std::size_t>(all)};
}

float addend(std::size_t rank, std::size_t at) { return static_cast<float>(rank % period + at % period); }

// Sum over the first `ranks` ranks.
float sum(std::size_t ranks, std::size_t at) {
    const std::size_t whole = ranks / period;
    const std::size_t rest = ranks % period;
    const std::size_t of_ranks = whole * (period * (period - 1) / 2) + (rest * rest - rest) / 2;
    return static_cast<float>(of_ranks + ranks * (at % period));
}

unsigned char byte(std::size_t rank, std::size_t at) {
    return static_cast<unsigned char>((rank * 31 + at * 7 + at / 256) % 251);
}

template <class Value, class Expected>
bool holds(const std::vector<unsigned char>& buffer, std::size_t values, const Expected& expected) {
    for (std::size_t at = 0; at < values; ++at) {
        Value value{};
        std::memcpy(&value, buffer.data() + at * sizeof value, sizeof value);
        if (value != expected(at)) {
            return false;
        }
    }
    return true;
}

}  // namespace

void fill(Buffers& buffers, const Collective& collective, int count, int root, MPI_Comm comm) {
    const Ranks ranks = ranks_of(comm);
    const std::size_t values = static_cast<std::size_t>(count) * (collective.gives_blocks ? ranks.all : 1);
    for (std::size_t at = 0; at < values; ++at) {
        if (adds_up(collective.result)) {
            const float value = addend(ranks.mine, at);
            std::memcpy(buffers.in.data() + at * sizeof value, &value, sizeof value);
        } else {
            buffers.in[at] = byte(ranks.mine, at);
        }
    }
    std::fill(buffers.out.begin(), buffers.out.end(), untouched);
    if (collective.result == Result::of_root && ranks.mine == static_cast<std::size_t>(root)) {
        std::copy_n(buffers.in.begin(), values, buffers.out.begin());
    }
}

bool is_right(const Buffers& buffers, const Collective& collective, int count, int root, MPI_Comm comm) {
    const Ranks ranks = ranks_of(comm);
    const auto block = static_cast<std::size_t>(count);
    const auto from = static_cast<std::size_t>(root);
    const std::size_t mine_at = ranks.mine * block;
    const auto& out = buffers.out;
    const auto sums = [&](std::size_t of, std::size_t begin) {
        return holds<float>(out, block, [&](std::size_t at) { return sum(of, begin + at); });
    };
    const auto of_each = [&](std::size_t begin) {
        return holds<unsigned char>(out, block * ranks.all,
                                    [&](std::size_t at) { return byte(at / block, begin + at % block); });
    };
    const auto of_root = [&](std::size_t begin) {
        return holds<unsigned char>(out, block, [&](std::size_t at) { return byte(from, begin + at); });
    };
    switch (collective.result) {
    case Result::nothing:
        return true;
    case Result::sum_of_all:
        return sums(ranks.all, 0);
    case Result::sum_at_root:
        return ranks.mine != from || sums(ranks.all, 0);
    case Result::sum_of_my_block:
        return sums(ranks.all, mine_at);
    case Result::sum_up_to_mine:
        return sums(ranks.mine + 1, 0);
    case Result::sum_before_mine:
        return ranks.mine == 0 || sums(ranks.mine, 0);
    case Result::of_root:
        return of_root(0);
    case Result::block_of_root:
        return of_root(mine_at);
    case Result::of_each:
        return of_each(0);
    case Result::of_each_at_root:
        return ranks.mine != from || of_each(0);
    case Result::my_block_of_each:
        return of_each(mine_at);
    }
    return false;
}

}  // namespace mpiric::probes
