// Our own collectives, on ranks that are threads.
#include "ranks.hpp"
#include "world/agreement.hpp"

#include <algorithm>
#include <atomic>
#include <doctest/doctest.h>
#include <numeric>
#include <vector>

using namespace mpiric::world;

namespace {

constexpr int sizes[] = {1, 2, 3, 4, 7};

ShadowComm whole_world(int rank, int size) { return {ranks::world, rank, size}; }

}  // namespace

TEST_CASE("no rank leaves a rendezvous before all have come") {
    for (const int size : sizes) {
        CAPTURE(size);
        std::atomic<int> arrived{0};
        ranks::run(size, [&](int) {
            ++arrived;
            CHECK(rendezvous(ranks::world, [] {}));
            CHECK(arrived == size);
        });
    }
}

TEST_CASE("all ranks get the maximum of all ranks") {
    for (const int size : sizes)
        for (const size_t count : {size_t(0), size_t(1), size_t(64), size_t(150)}) {
            CAPTURE(size);
            CAPTURE(count);
            ranks::run(size, [&](int rank) {
                std::vector<uint64_t> values(count), expected(count);
                for (size_t index = 0; index < count; ++index) {
                    values[index] = uint64_t((rank * 31 + int(index) * 17) % 101);
                    for (int other = 0; other < size; ++other)
                        expected[index] =
                            std::max(expected[index], uint64_t((other * 31 + int(index) * 17) % 101));
                }
                CHECK(allreduce_max(whole_world(rank, size), values));
                CHECK(values == expected);
            });
        }
}

TEST_CASE("a broadcast hands the bytes of rank 0 to all") {
    for (const int size : sizes)
        for (const size_t count : {size_t(0), size_t(1), size_t(1000)}) {
            CAPTURE(size);
            CAPTURE(count);
            ranks::run(size, [&](int rank) {
                std::vector<unsigned char> expected(count), bytes(count);
                std::iota(expected.begin(), expected.end(), static_cast<unsigned char>(3));
                if (rank == 0)
                    bytes = expected;
                CHECK(broadcast(whole_world(rank, size), bytes.data(), count));
                CHECK(bytes == expected);
            });
        }
}

TEST_CASE("a shadow communicator") {
    SUBCASE("has the ranks of its original in their order, and returns errors") {
        ranks::run(4, [](int rank) {
            ShadowComm shadow;
            CHECK(make_shadow_comm(ranks::world, shadow));
            CHECK(shadow.comm != ranks::world);
            CHECK(shadow.rank == rank);
            CHECK(shadow.size == 4);
            CHECK(ranks::handlers[shadow.comm] == handles.errors_return);
            free_shadow_comm(shadow);
            CHECK(shadow.size == 0);
        });
    }
    SUBCASE("is refused to all ranks when one has no room") {
        ranks::run(
            4,
            [](int) {
                ShadowComm shadow;
                CHECK(!make_shadow_comm(ranks::world, shadow));
                CHECK(shadow.size == 0);
            },
            2);
    }
    SUBCASE("leaves the program's error handler as it was") {
        ranks::run(2, [](int) {
            constexpr MPI_Errhandler of_program = 99;
            ranks::handlers[ranks::world] = of_program;
            ShadowComm shadow;
            CHECK(make_shadow_comm_quietly(ranks::world, shadow));
            CHECK(ranks::handlers[ranks::world] == of_program);
            free_shadow_comm(shadow);
        });
    }
    SUBCASE("is refused where there are very many, until one is freed") {
        ranks::run(1, [](int) {
            std::vector<ShadowComm> shadows(513);
            const auto refused = std::find_if(shadows.begin(), shadows.end(), [](ShadowComm& shadow) {
                return !make_shadow_comm(ranks::world, shadow);
            });
            CHECK(refused - shadows.begin() == 512);
            free_shadow_comm(shadows.front());
            CHECK(make_shadow_comm(ranks::world, shadows.back()));
            std::for_each(shadows.begin(), shadows.end(), free_shadow_comm);
        });
    }
}
