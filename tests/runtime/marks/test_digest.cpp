// Digests: equal for equal results in equal order, and for no others.
#include "marks/digest.hpp"

#include <doctest/doctest.h>
#include <set>
#include <vector>

using mpiric::marks::take_message;
using mpiric::marks::take_result;

namespace {

uint64_t digest_of(const std::vector<std::vector<char>>& results) {
    uint64_t digest = 0;
    for (const std::vector<char>& result : results)
        digest = take_result(digest, result.data(), result.size());
    return digest;
}

}  // namespace

TEST_CASE("a single bit anywhere changes the digest") {
    std::set<uint64_t> digests;
    std::vector<char> result(45, 'x');
    digests.insert(digest_of({result, {1, 2, 3}}));
    for (size_t bit = 0; bit < 8 * result.size(); ++bit) {
        std::vector<char> changed = result;
        changed[bit / 8] = char(changed[bit / 8] ^ 1 << bit % 8);
        digests.insert(digest_of({changed, {1, 2, 3}}));
    }
    CHECK(digests.size() == 8 * result.size() + 1);
}

TEST_CASE("a single bit anywhere in a message changes the digest") {
    std::set<uint64_t> digests;
    std::vector<char> message(109, 'x');
    digests.insert(take_message(message.data(), message.size()));
    for (size_t bit = 0; bit < 8 * message.size(); ++bit) {
        std::vector<char> changed = message;
        changed[bit / 8] = char(changed[bit / 8] ^ 1 << bit % 8);
        digests.insert(take_message(changed.data(), changed.size()));
    }
    CHECK(digests.size() == 8 * message.size() + 1);
    CHECK(take_message(message.data(), 8) != take_message(message.data(), 16));
    CHECK(take_message(message.data(), 32) != take_message(message.data(), 64));
}

TEST_CASE("order and length count") {
    CHECK(digest_of({{1}, {2}}) != digest_of({{2}, {1}}));
    CHECK(digest_of({{1}, {0}}) != digest_of({{1, 0}}));
    CHECK(digest_of({{0}}) != digest_of({{0, 0}}));
    CHECK(digest_of({{0}}) != digest_of({{0}, {0}}));
}

TEST_CASE("the digest is the one of the format, so that files of other builds can be compared") {
    const uint64_t number = 0x0123456789ABCDEFull;
    CHECK(take_result(0, &number, 8) == 0xEBD4BA091FFA16B4ull);
}
