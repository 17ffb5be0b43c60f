// Facts about communicators and windows, from an MPI whose groups are lists of world ranks.
#include "world/communicators.hpp"

#include <algorithm>
#include <cstdio>
#include <doctest/doctest.h>
#include <map>
#include <string>
#include <vector>

using namespace mpiric::world;

namespace mpiric::world {

constinit Library library;
constinit Handles handles;

}  // namespace mpiric::world

namespace {

/// World ranks; -1: outside the world.
using Members = std::vector<int>;

struct Comm {
    Members local, remote;
    const char* name = "";
    int topology = MPI_UNDEFINED, neighbours = 0;
};

std::map<MPI_Comm, Comm> comms;
std::map<MPI_Win, Members> windows;
std::map<MPI_Group, Members> groups;
MPI_Group last_group = 0;
std::vector<Description> entered;
int asked_for_neighbours = 0;

constexpr int own_rank = 2, world_size = 4;
constexpr MPI_Group world_group = 1;

int add_group(const Members& members, MPI_Group* group) {
    groups[*group = ++last_group] = members;
    return MPI_SUCCESS;
}

int neighbours_of(MPI_Comm comm, int* count) {
    ++asked_for_neighbours;
    *count = comms[comm].neighbours;
    return MPI_SUCCESS;
}

void bind() {
    library.Comm_test_inter = [](MPI_Comm comm, int* inter) {
        return *inter = !comms[comm].remote.empty(), MPI_SUCCESS;
    };
    library.Comm_group = [](MPI_Comm comm, MPI_Group* group) { return add_group(comms[comm].local, group); };
    library.Comm_remote_group = [](MPI_Comm comm, MPI_Group* group) {
        return add_group(comms[comm].remote, group);
    };
    library.Comm_get_name = [](MPI_Comm comm, char* name, int* length) {
        *length = std::snprintf(name, MPI_MAX_OBJECT_NAME, "%s", comms[comm].name);
        return MPI_SUCCESS;
    };
    library.Win_get_group = [](MPI_Win window, MPI_Group* group) {
        return add_group(windows[window], group);
    };
    library.Group_size = [](MPI_Group group, int* size) {
        return *size = int(groups[group].size()), MPI_SUCCESS;
    };
    library.Group_rank = [](MPI_Group group, int* rank) {
        const Members& members = groups[group];
        *rank = int(std::find(members.begin(), members.end(), own_rank) - members.begin());
        return MPI_SUCCESS;
    };
    library.Group_free = [](MPI_Group* group) { return groups.erase(*group), MPI_SUCCESS; };
    library.Group_translate_ranks = [](MPI_Group group, int count, const int ranks[], MPI_Group,
                                       int result[]) {
        for (int index = 0; index < count; ++index) {
            const int member = groups[group][size_t(ranks[index])];
            result[index] = member < 0 ? MPI_UNDEFINED : member;
        }
        return MPI_SUCCESS;
    };
    library.Topo_test = [](MPI_Comm comm, int* kind) { return *kind = comms[comm].topology, MPI_SUCCESS; };
    library.Cartdim_get = neighbours_of;
    library.Graph_neighbors_count = [](MPI_Comm comm, int, int* count) { return neighbours_of(comm, count); };
    library.Dist_graph_neighbors_count = [](MPI_Comm comm, int*, int* count, int*) {
        return neighbours_of(comm, count);
    };
}

/// A world of four ranks, seen by rank 2, and the communicators of a test; all are forgotten at its end.
struct World {
    World() {
        comms.clear(), windows.clear(), groups.clear(), entered.clear();
        groups[last_group = world_group] = {0, 1, 2, 3};
        asked_for_neighbours = 0;
        bind();
        begin_comm_info(world_group, [](const Description& description) {
            entered.push_back(description);
            return uint32_t(entered.size() - 1);
        });
    }
    ~World() {
        for (const auto& [comm, unused] : comms)
            forget(comm);
        for (const auto& [window, unused] : windows)
            forget_window(window);
    }
    CommInfo& add(MPI_Comm handle, const Comm& comm) {
        comms[handle] = comm;
        CommInfo* info = comm_info(handle);
        REQUIRE(info != nullptr);
        return *info;
    }
};

}  // namespace

TEST_CASE_FIXTURE(World, "the world is known as the world") {
    const CommInfo& info = add(10, {{0, 1, 2, 3}, {}, "MPI_COMM_WORLD"});
    CHECK(info.size == world_size);
    CHECK(info.rank == own_rank);
    CHECK(info.world_rank(3) == 3);
    CHECK(info.world_rank(4) == -1);
    CHECK(info.world_rank(-1) == -1);
    REQUIRE(entered.size() == 1);
    CHECK(entered[0].whole_world);
    CHECK(!entered[0].is_inter);
}

TEST_CASE_FIXTURE(World, "ranks are translated to world ranks") {
    const CommInfo& info = add(10, {{3, 2, -1}, {}});
    CHECK(info.rank == 1);
    CHECK(info.world_rank(0) == 3);
    CHECK(info.world_rank(1) == 2);
    CHECK(info.world_rank(2) == -1);
    CHECK(!entered[0].whole_world);
}

TEST_CASE_FIXTURE(World, "a communicator enters the record once, and its groups are given back") {
    const CommInfo& info = add(10, {{2}, {}});
    CHECK(comm_info(10) == &info);
    CHECK(entered.size() == 1);
    CHECK(groups.size() == 1);
}

TEST_CASE_FIXTURE(World, "the facts of a handle are forgotten when it is freed") {
    CHECK(add(10, {{0, 1, 2, 3}, {}}).index == 0);
    forget(10);
    const CommInfo& info = add(10, {{2, 3}, {}});
    CHECK(info.index == 1);
    CHECK(info.size == 2);
}

TEST_CASE_FIXTURE(World, "equal members have equal hashes, others and other orders have not") {
    add(10, {{2, 3}, {}});
    add(11, {{2, 3}, {}});
    add(12, {{3, 2}, {}});
    add(13, {{1, 2}, {}});
    CHECK(entered[0].members == entered[1].members);
    CHECK(entered[0].members != entered[2].members);
    CHECK(entered[0].members != entered[3].members);
}

TEST_CASE_FIXTURE(World,
                  "an intercommunicator is addressed by its remote ranks, and is one from either side") {
    const CommInfo& info = add(10, {{2, 3}, {0, 1, -1}});
    CHECK(info.is_inter);
    CHECK(info.size == 3);
    CHECK(info.group == 2);
    CHECK(info.world_rank(1) == 1);
    CHECK(entered[0].remote_size == 3);
    add(11, {{0, 1, -1}, {2, 3}});
    CHECK(entered[0].members == entered[1].members);
    CHECK(groups.size() == 1);
}

TEST_CASE_FIXTURE(World, "a window and a communicator of one number are two") {
    const CommInfo& comm = add(10, {{0, 1, 2, 3}, {}});
    windows[10] = {2, 3};
    const CommInfo* window = window_info(10);
    REQUIRE(window != nullptr);
    CHECK(window != &comm);
    CHECK(window->is_window);
    CHECK(window->size == 2);
}

TEST_CASE_FIXTURE(World, "null handles are unknown") {
    handles.comm_null = 77;
    CHECK(comm_info(77) == nullptr);
    handles.comm_null = 0;
}

TEST_CASE_FIXTURE(World, "neighbours are asked for once, by the kind of topology") {
    const auto degree = [&](MPI_Comm handle, int topology, int neighbours) {
        CommInfo& info = add(handle, {{0, 1, 2, 3}, {}, "", topology, neighbours});
        CHECK(out_degree(info, handle) == out_degree(info, handle));
        return out_degree(info, handle);
    };
    CHECK(degree(10, MPI_CART, 3) == 6);
    CHECK(degree(11, MPI_GRAPH, 5) == 5);
    CHECK(degree(12, MPI_DIST_GRAPH, 2) == 2);
    CHECK(asked_for_neighbours == 3);
    CHECK(degree(13, MPI_UNDEFINED, 9) == 0);
}

TEST_CASE_FIXTURE(World, "a full table knows no more, until one is freed") {
    for (MPI_Comm handle = 100; handle < 100 + 2048; ++handle)
        add(handle, {{2}, {}});
    comms[5000] = {{2}, {}};
    CHECK(comm_info(5000) == nullptr);
    forget(100);
    CHECK(comm_info(5000) != nullptr);
}
