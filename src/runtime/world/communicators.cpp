// The table of the program's communicators and windows: filled by the first call on each.
#include "world/communicators.hpp"

#include "base/handle_bag.hpp"
#include "base/hash.hpp"

#include <cstdlib>
#include <new>
#include <numeric>

namespace mpiric::world {

namespace {

constexpr int most = 2048;  // communicators and windows that are known at a time

struct State {
    HandleMap<CommInfo*> known;  ///< indexed by key_of()
    std::atomic<int> count{0};
    MPI_Group world_group{};
    int world_size = 0;
    AddToRecord enter = nullptr;
};
constinit State comms;

uint64_t key_of(uint64_t handle, bool is_window) noexcept { return handle << 1 | uint64_t(is_window); }

uint64_t hash_members(const int* ranks, int count) noexcept {
    return std::accumulate(ranks, ranks + count, hash_basis,
                           [](uint64_t hash, int rank) { return hash_with(hash, uint32_t(rank)); });
}

/// World ranks of a group, -1 for members outside the world. Null when memory is short.
int* translate(MPI_Group group, int size) noexcept {
    auto* ranks = static_cast<int*>(std::malloc(2 * sizeof(int) * size_t(size ? size : 1)));
    if (!ranks)
        return nullptr;
    int* own = ranks + size;
    std::iota(own, own + size, 0);
    if (size && library.Group_translate_ranks(group, size, own, comms.world_group, ranks) != MPI_SUCCESS) {
        std::free(ranks);
        return nullptr;
    }
    for (int at = 0; at < size; ++at)
        if (ranks[at] < 0 || ranks[at] >= comms.world_size)
            ranks[at] = -1;
    return ranks;
}

struct Groups {
    MPI_Group local{}, remote{};
    bool is_inter = false;
};

bool groups_of_communicator(MPI_Comm comm, Groups& groups) noexcept {
    int inter = 0;
    if (library.Comm_test_inter(comm, &inter) != MPI_SUCCESS ||
        library.Comm_group(comm, &groups.local) != MPI_SUCCESS)
        return false;
    groups.is_inter = inter != 0;
    return !inter || library.Comm_remote_group(comm, &groups.remote) == MPI_SUCCESS;
}

/// Learns of a new communicator or window, and enters it in the record.
void describe(Groups groups, uint64_t handle, const char* name, CommInfo& info) noexcept {
    library.Group_size(groups.local, &info.group);
    library.Group_rank(groups.local, &info.rank);
    info.size = info.group;
    if (groups.is_inter)
        library.Group_size(groups.remote, &info.size);
    int* ranks = translate(groups.is_inter ? groups.remote : groups.local, info.size);
    bool in_world_order = ranks && !groups.is_inter;
    for (int at = 0; in_world_order && at < info.size; ++at)
        in_world_order = ranks[at] == at;
    Description description{};
    description.handle = handle;
    description.members = ranks ? hash_members(ranks, info.size) : 0;
    if (groups.is_inter) {
        if (int* own = translate(groups.local, info.group)) {
            // Either side of an intercommunicator has the same hash.
            description.members ^= hash_members(own, info.group);
            std::free(own);
        }
        library.Group_free(&groups.remote);
    }
    library.Group_free(&groups.local);
    if (in_world_order) {
        std::free(ranks);
        ranks = nullptr;
    }
    info.world_ranks = ranks;
    info.is_inter = groups.is_inter;
    description.size = info.group;
    description.rank = info.rank;
    description.remote_size = groups.is_inter ? info.size : 0;
    description.is_window = info.is_window;
    description.is_inter = groups.is_inter;
    description.whole_world = in_world_order && info.size == comms.world_size;
    description.name = name;
    info.index = comms.enter(description);
}

/// Facts about a communicator or window, asked of the library if it is new; null when the table is full.
template <class GroupsOf>
CommInfo* info_of(uint64_t handle, bool is_window, const char* name, GroupsOf&& groups_of) noexcept {
    const uint64_t key = key_of(handle, is_window);
    CommInfo* info = nullptr;
    if (comms.known.get(key, info))
        return info;
    Groups groups;
    if (comms.count >= most || !(info = new (std::nothrow) CommInfo))
        return nullptr;
    info->is_window = is_window;
    if (!groups_of(groups)) {
        delete info;
        return nullptr;
    }
    describe(groups, handle, name, *info);
    // Another thread may have come first: its entry stays.
    if (CommInfo* known = comms.known.put_new(key, info); known != info) {
        std::free(info->world_ranks);
        delete info;
        return known;
    }
    ++comms.count;
    return info;
}

void forget_key(uint64_t key) noexcept {
    if (CommInfo* info = nullptr; comms.known.take(key, info)) {
        std::free(info->world_ranks);
        delete info;
        --comms.count;
    }
    invalidate_caches();
}

}  // namespace

void begin_comm_info(MPI_Group world, AddToRecord add_to_record) noexcept {
    comms.world_group = world;
    comms.enter = add_to_record;
    library.Group_size(world, &comms.world_size);
}

CommInfo* find_comm_info(MPI_Comm comm, CachedCommInfo& cached) noexcept {
    if (comm == handles.comm_null)
        return nullptr;
    const uint32_t generation_now = caches.generation.load(std::memory_order_acquire);
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    int length = 0;
    CommInfo* found = info_of(number(comm), false, name, [&](Groups& groups) {
        library.Comm_get_name(comm, name, &length);
        return groups_of_communicator(comm, groups);
    });
    if (found)
        cached = {number(comm), generation_now, found};
    return found;
}

CommInfo* window_info(MPI_Win window) noexcept {
    if (window == handles.win_null)
        return nullptr;
    return info_of(number(window), true, "", [&](Groups& groups) {
        return library.Win_get_group(window, &groups.local) == MPI_SUCCESS;
    });
}

void forget(MPI_Comm comm) noexcept { forget_key(key_of(number(comm), false)); }
void forget_window(MPI_Win window) noexcept { forget_key(key_of(number(window), true)); }

int32_t out_degree(CommInfo& info, MPI_Comm comm) noexcept {
    if (info.degree >= 0)
        return info.degree;
    int kind = MPI_UNDEFINED;
    int degree = 0, sources = 0, weighted = 0;
    library.Topo_test(comm, &kind);
    if (kind == MPI_CART && library.Cartdim_get(comm, &degree) == MPI_SUCCESS)
        degree *= 2;
    else if (kind == MPI_GRAPH)
        library.Graph_neighbors_count(comm, info.rank, &degree);
    else if (kind == MPI_DIST_GRAPH)
        library.Dist_graph_neighbors_count(comm, &sources, &degree, &weighted);
    info.degree = degree;
    return degree;
}

}  // namespace mpiric::world
