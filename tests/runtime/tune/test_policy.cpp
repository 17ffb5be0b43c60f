// The flat policy, the candidates it names and the communicators it is about.
#include "base/hash.hpp"
#include "tune/candidate.hpp"
#include "tune/policy.hpp"
#include "tune/shape.hpp"

#include <array>
#include <doctest/doctest.h>
#include <string>

using namespace mpiric;
using namespace mpiric::tune;

namespace {

constexpr std::string_view example =
    "mpiric-policy 1\n"
    "mpi openmpi 5.0.11\n"
    "# collective ranks nodes per-node order placement from to candidate\n"
    "choose allreduce 8 4 2 block * 0 2048 library\n"
    "choose allreduce 8 4 2 block 9f3ab2c4d5e6f708 2048 * own:hierarchical leaders=2\n"
    "choose allreduce 8 4 2 * * 2048 * library:ring\n"
    "choose iallreduce 8 4 2 * * 2048 * library:ring\n"
    "choose neighbor_allgather 8 4 2 * * 2048 * library\n"
    "choose bcast 5-12 2-* * * * 65536 * library:pipeline segment=65536\n";

constexpr Shape eight{8, 4, 2, Distribution::block, 1};

TEST_CASE("the first line that matches decides") {
    uint32_t line = 0;
    const auto policy = read_policy(example, line);
    REQUIRE(policy);
    CHECK(policy->implementation == "openmpi");
    CHECK(policy->major == 5);
    CHECK(policy->rules.size() == 5);
    const auto low = look_up(*policy, Collective::allreduce, eight, 0, 1);
    REQUIRE(low.size() == 1);
    REQUIRE(low[0].rule);
    CHECK(low[0].rule->candidate == "library");
    const auto across = look_up(*policy, Collective::allreduce, eight, 1024, 4096);
    REQUIRE(across.size() == 2);
    CHECK(across[0].to == 2048);
    CHECK(across[1].rule->candidate == "library:ring");
    Shape placed = eight;
    placed.placement = 0x9f3ab2c4d5e6f708;
    CHECK(look_up(*policy, Collective::allreduce, placed, 4096, 8192)[0].rule->candidate ==
          "own:hierarchical leaders=2");
    const auto uncovered = look_up(*policy, Collective::bcast, eight, 32768, 131072);
    REQUIRE(uncovered.size() == 2);
    REQUIRE(!uncovered[0].rule);
    CHECK(uncovered[1].rule);
    CHECK(!look_up(*policy, Collective::bcast, {4, 4, 1, Distribution::block, 1}, 65536, 131072)[0].rule);
    CHECK(!look_up(*policy, Collective::scatter, eight, 0, UINT64_MAX)[0].rule);
}

TEST_CASE("a bad line is named") {
    const std::string head = "mpiric-policy 1\nmpi mpich 5.0.2\n";
    for (const char* bad :
         {"choose allreduce", "pick allreduce * * * * * 0 * library",
          "choose allreduce 5-4 * * * * 0 * library", "choose allreduce * * * round * 0 * library",
          "choose allreduce * * * * 12 0 * library", "choose allreduce * * * * * 8 8 library",
          "choose allreduce * * * * * 0 * Library:ring", "choose allreduce * * * * * 0 * own:",
          "choose allreduce * * * * * 0 * own:ring radix", "choose allreduce * * * * * -1 * library"}) {
        uint32_t line = 0;
        CHECK(!read_policy(head + "\n# a comment\n" + bad + "\n", line));
        CHECK(line == 5);
    }
    uint32_t line = 0;
    CHECK(!read_policy("mpiric-policy 2\nmpi mpich 5\n", line));
    CHECK(line == 1);
    CHECK(!read_policy("", line));
    CHECK(!read_policy(head + std::string(600, '#') + "\n", line));
    CHECK(line == 3);
}

TEST_CASE("libraries are recognised by their version text") {
    CHECK(library_of("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4").version_text() == "4.1.4");
    CHECK(library_of("MPICH Version:\t5.0.2\nMPICH Release date: ...").implementation == "mpich");
    CHECK(library_of("Intel(R) MPI Library 2021.19 for Linux* OS").version_text() == "2021.19");
    CHECK(library_of("something else").implementation.empty());
}

TEST_CASE("candidates depend on the version") {
    const Library old{"mpich", {4, 0, 2}}, fresh{"mpich", {5, 0, 2}};
    Catalogue of_old(old), of_fresh(fresh);
    CHECK(of_old.find(Collective::allreduce, "library:ring") < 0);
    CHECK(of_fresh.find(Collective::allreduce, "library:ring") > 0);
    CHECK(of_fresh.of(Collective::allreduce)[0] == uint32_t(of_fresh.find(Collective::allreduce, "library")));
    CHECK(of_fresh.find(Collective::allreduce, "library:no_such") < 0);
}

TEST_CASE("a policy may combine parameters that are known") {
    Catalogue catalogue(Library{"openmpi", {5, 0, 11}});
    const int32_t both = catalogue.find(Collective::bcast, "library:chain fanout=3 segment=12345");
    REQUIRE(both > 0);
    const Candidate& candidate = catalogue[uint32_t(both)];
    REQUIRE(candidate.writes.size() == 5);
    CHECK(candidate.writes.back().value == "12345");
    CHECK(!candidate.worth_trying);
    CHECK(catalogue.find(Collective::bcast, "library:chain fanout=3 segment=12345") == both);
    CHECK(catalogue.find(Collective::bcast, "library:chain depth=3") < 0);
    CHECK(catalogue.find(Collective::bcast, "library:chain fanout=many") < 0);
}

TEST_CASE("forms that do not block have candidates of their own") {
    Catalogue catalogue(Library{"openmpi", {5, 0, 11}});
    const int32_t started = catalogue.find(Collective::iallreduce, "library:ring"),
                  kept = catalogue.find(Collective::allreduce_init, "library:ring"),
                  blocking = catalogue.find(Collective::allreduce, "library:ring");
    REQUIRE(started > 0);
    REQUIRE(kept > 0);
    REQUIRE(blocking > 0);
    CHECK(catalogue[uint32_t(started)].writes[0].variable == "coll_libnbc_iallreduce_algorithm");
    CHECK(catalogue[uint32_t(kept)].writes[0].variable == "coll_libnbc_iallreduce_algorithm");
    CHECK(catalogue[uint32_t(started)].scope == Scope::process);
    CHECK(catalogue[uint32_t(blocking)].scope == Scope::communicator);
    CHECK(catalogue.of(Collective::alltoall_init).size() == 1);
}

TEST_CASE("algorithms that only the environment selects are not candidates") {
    Catalogue catalogue(Library{"intelmpi", {2021, 19}});
    CHECK(catalogue.of(Collective::allreduce).size() == 1);
    CHECK(catalogue.find(Collective::allreduce, "library:ring") < 0);
}

TEST_CASE("collectives are named in all forms") {
    CHECK(collective_of("ireduce_scatter_block") == Collective::ireduce_scatter_block);
    CHECK(collective_of("bcast_init") == Collective::bcast_init);
    CHECK(collective_of("bcast_final") == Collective::count);
    CHECK(form_of(Collective::barrier) == Form::blocking);
    CHECK(form_of(Collective::iscan) == Form::nonblocking);
    CHECK(in_form(Collective::iscan, Form::persistent) == Collective::scan_init);
    CHECK(reduces(Collective::exscan_init));
    CHECK(!reduces(Collective::ibcast));
}

TEST_CASE("shapes are as the format says") {
    std::array<uint32_t, 8> labels = {70, 70, 10, 10, 30, 30, 20, 20};
    CHECK(number_nodes(labels) == 4);
    CHECK(labels[2] == 1);
    CHECK(labels[7] == 3);
    const Nodes nodes{labels, 4};
    const std::array<int32_t, 8> all = {0, 1, 2, 3, 4, 5, 6, 7}, round = {0, 2, 4, 6, 1, 3, 5, 7};
    const std::array<int32_t, 3> some = {0, 2, 1};
    const Shape world = shape_of(all, nodes);
    CHECK(world.ranks == 8);
    CHECK(world.nodes == 4);
    CHECK(world.ranks_per_node == 2);
    CHECK(world.distribution == Distribution::block);
    CHECK(shape_of(round, nodes).distribution == Distribution::cyclic);
    CHECK(shape_of(some, nodes).distribution == Distribution::mixed);
    CHECK(world.placement != shape_of(round, nodes).placement);
    CHECK(identity_of(all) != identity_of(round));
    uint64_t hash = hash_number(hash_number(hash_basis, 8), 4);
    for (const uint32_t node : {0u, 1u, 0u})
        hash = hash_number(hash, node);
    CHECK(shape_of(some, nodes).placement == hash);
}

TEST_CASE("size classes cover all sizes") {
    for (uint32_t size_class = 0; size_class + 1 < class_count; ++size_class) {
        CHECK(class_end(size_class) == class_begin(size_class + 1));
        CHECK(class_of(class_begin(size_class)) == size_class);
    }
    CHECK(class_of(UINT64_MAX) == class_count - 1);
}

}  // namespace
