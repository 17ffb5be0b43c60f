#include "world/communicators.hpp"

#include "base/spin_lock.hpp"

#include <cstdlib>
#include <numeric>

namespace mpiric::world {

namespace {

constexpr uint32_t capacity = 4096;  // slots; at most half are used
constexpr uint64_t removed = UINT64_MAX;

constinit Place places[capacity];
constinit uint32_t used = 0;
constinit SpinLock lock;
constinit MPI_Group world_group{};
constinit int world_size = 0;
constinit Register register_place = nullptr;

uint64_t key_of(uint64_t handle, bool is_window) noexcept { return (handle << 1 | uint64_t(is_window)) + 1; }

/// The slot that holds a key, or null; `free_slot` is where it could go.
Place* look_up(uint64_t key, Place*& free_slot) noexcept {
    free_slot = nullptr;
    uint32_t at = uint32_t(key * 0x9E3779B97F4A7C15ull >> 52);
    for (uint32_t step = 0; step < capacity; ++step, at = (at + 1) % capacity) {
        Place& place = places[at];
        if (place.handle == key)
            return &place;
        if (!free_slot && (place.handle == 0 || place.handle == removed))
            free_slot = &place;
        if (place.handle == 0)
            break;
    }
    return nullptr;
}

uint64_t hash_members(const int* ranks, int count) noexcept {
    return std::accumulate(ranks, ranks + count, 0xCBF29CE484222325ull, [](uint64_t hash, int rank) {
        return (hash ^ uint64_t(uint32_t(rank))) * 0x100000001B3ull;
    });
}

/// World ranks of a group, -1 for members outside the world. Null when memory is short.
int* translate(MPI_Group group, int size) noexcept {
    auto* ranks = static_cast<int*>(std::malloc(2 * sizeof(int) * size_t(size ? size : 1)));
    if (!ranks)
        return nullptr;
    int* own = ranks + size;
    std::iota(own, own + size, 0);
    if (size && library.Group_translate_ranks(group, size, own, world_group, ranks) != MPI_SUCCESS) {
        std::free(ranks);
        return nullptr;
    }
    for (int at = 0; at < size; ++at)
        if (ranks[at] < 0 || ranks[at] >= world_size)
            ranks[at] = -1;
    return ranks;
}

struct Groups {
    MPI_Group own{}, addressed{};
    bool between = false;
};

bool groups_of_communicator(MPI_Comm comm, Groups& groups) noexcept {
    int inter = 0;
    if (library.Comm_test_inter(comm, &inter) != MPI_SUCCESS ||
        library.Comm_group(comm, &groups.own) != MPI_SUCCESS)
        return false;
    groups.between = inter != 0;
    return !inter || library.Comm_remote_group(comm, &groups.addressed) == MPI_SUCCESS;
}

bool groups_of_window(MPI_Win window, Groups& groups) noexcept {
    return library.Win_get_group(window, &groups.own) == MPI_SUCCESS;
}

void learn(Groups groups, const char* name, Place& place) noexcept {
    library.Group_size(groups.own, &place.group);
    library.Group_rank(groups.own, &place.rank);
    place.size = place.group;
    if (groups.between)
        library.Group_size(groups.addressed, &place.size);
    int* ranks = translate(groups.between ? groups.addressed : groups.own, place.size);
    bool same = ranks && !groups.between;
    for (int at = 0; same && at < place.size; ++at)
        same = ranks[at] == at;
    Description description{};
    description.members = ranks ? hash_members(ranks, place.size) : 0;
    if (groups.between) {
        if (int* own = translate(groups.own, place.group)) {
            // The same number seen from either side.
            description.members ^= hash_members(own, place.group);
            std::free(own);
        }
        library.Group_free(&groups.addressed);
    }
    library.Group_free(&groups.own);
    if (same) {
        std::free(ranks);
        ranks = nullptr;
    }
    place.world_ranks = ranks;
    place.between = groups.between;
    description.size = place.group;
    description.rank = place.rank;
    description.remote_size = groups.between ? place.size : 0;
    description.is_window = place.is_window;
    description.between = groups.between;
    description.whole_world = same && place.size == world_size;
    description.name = name;
    place.index = register_place(description);
}

/// Finding is done under the lock; `groups_of` and what follows it call the library, so they are not.
template <class GroupsOf>
Place* place(uint64_t key, bool is_window, const char* name, GroupsOf&& groups_of) noexcept {
    Place* free_slot = nullptr;
    {
        const Held held(lock, true);
        if (Place* known = look_up(key, free_slot))
            return known;
    }
    Place fresh;
    Groups groups;
    fresh.is_window = is_window;
    fresh.handle = key;
    if (used >= capacity / 2 || !groups_of(groups))
        return nullptr;
    learn(groups, name, fresh);
    const Held held(lock, true);
    if (Place* known = look_up(key, free_slot)) {
        std::free(fresh.world_ranks);
        return known;
    }
    if (!free_slot) {
        std::free(fresh.world_ranks);
        return nullptr;
    }
    *free_slot = fresh;
    ++used;
    return free_slot;
}

void forget_key(uint64_t key) noexcept {
    const Held held(lock, true);
    Place* free_slot = nullptr;
    if (Place* known = look_up(key, free_slot)) {
        std::free(known->world_ranks);
        *known = Place{};
        known->handle = removed;
        --used;
    }
    forget_remembered();
}

}  // namespace

void begin_places(MPI_Group world, Register registers) noexcept {
    world_group = world;
    register_place = registers;
    library.Group_size(world, &world_size);
}

Place* find_place(MPI_Comm comm, RememberedPlace& here) noexcept {
    if (comm == handles.comm_null)
        return nullptr;
    const uint32_t now = generation.load(std::memory_order_acquire);
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    int length = 0;
    Place* found = place(key_of(number(comm), false), false, name, [&](Groups& groups) {
        library.Comm_get_name(comm, name, &length);
        return groups_of_communicator(comm, groups);
    });
    if (found)
        here = {number(comm), now, found};
    return found;
}

Place* place_of_window(MPI_Win window) noexcept {
    if (window == handles.win_null)
        return nullptr;
    return place(key_of(number(window), true), true, "",
                 [&](Groups& groups) { return groups_of_window(window, groups); });
}

void forget(MPI_Comm comm) noexcept { forget_key(key_of(number(comm), false)); }
void forget_window(MPI_Win window) noexcept { forget_key(key_of(number(window), true)); }

int32_t out_degree(Place& place, MPI_Comm comm) noexcept {
    if (place.degree >= 0)
        return place.degree;
    int kind = MPI_UNDEFINED;
    int degree = 0, sources = 0, weighted = 0;
    library.Topo_test(comm, &kind);
    if (kind == MPI_CART && library.Cartdim_get(comm, &degree) == MPI_SUCCESS)
        degree *= 2;
    else if (kind == MPI_GRAPH)
        library.Graph_neighbors_count(comm, place.rank, &degree);
    else if (kind == MPI_DIST_GRAPH)
        library.Dist_graph_neighbors_count(comm, &sources, &degree, &weighted);
    place.degree = degree;
    return degree;
}

}  // namespace mpiric::world
