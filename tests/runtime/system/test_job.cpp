// The number that identifies a run.
#include "base/hash.hpp"
#include "system/process.hpp"

#include <cstdlib>
#include <doctest/doctest.h>
#include <string_view>

using namespace mpiric;
using namespace mpiric::system;
using namespace std::string_view_literals;

namespace {

uint64_t taken(std::string_view words) {
    uint64_t hash = hash_basis;
    return take_proxy(words.data(), words.size(), hash) ? hash : 0;
}

}  // namespace

TEST_CASE("proxies of one launch are of one run, whatever their hosts") {
    const uint64_t first = taken("hydra_pmi_proxy\0--control-port\0n1:4711\0--pgid\0"
                                 "0\0--proxy-id\0"
                                 "0\0"sv);
    CHECK(first != 0);
    CHECK(taken("/bin/hydra_pmi_proxy\0--control-port\0n1:4711\0--pgid\0"
                "0\0--proxy-id\0"
                "3\0"sv) == first);
    CHECK(taken("hydra_pmi_proxy\0--control-port\0n1:4712\0--pgid\0"
                "0\0"sv) != first);
    CHECK(taken("hydra_pmi_proxy\0--control-port\0n1:4711\0--pgid\0"
                "1\0"sv) != first);  // spawned
}

TEST_CASE("other command lines name no run") {
    CHECK(taken(""sv) == 0);
    CHECK(taken("sh\0-c\0./program --control-port n1:4711\0"sv) == 0);
    CHECK(taken("hydra_pmi_proxy\0--control-port\0"sv) == 0);  // cut short
}

TEST_CASE("a run has the name that its launcher gives it") {
    setenv("PMIX_NAMESPACE", "prterun-n1-42@1", 1);
    const uint64_t first = job();
    CHECK(job() == first);
    setenv("PMIX_NAMESPACE", "prterun-n1-43@1", 1);
    CHECK(job() != first);
    unsetenv("PMIX_NAMESPACE");
    CHECK(job() != 0);
}
