// The layer of rank orders: the world in another order.
#include "order/substitution.hpp"

#include "base/say.hpp"
#include "order/order.hpp"
#include "profile/context.hpp"

#include <algorithm>
#include <exception>

namespace mpiric::order {
namespace {

using world::handles;
using world::library;

void say_unchanged(const SlotOrder& order) noexcept {
    say_once("ranks keep the order they have", order.problem.c_str());
}

/// The order as rank 0 has read it, empty where there is none; collective.
std::vector<int32_t> common_order(int rank, int size) {
    SlotOrder order;
    if (rank == 0) {
        order = read_order(runtime.options.rank_order, size);
        if (!order.is_valid())
            say_unchanged(order);
    }
    char is_valid = char(order.is_valid());
    std::vector<int32_t>& slots = order.slots;
    library.Bcast(&is_valid, 1, handles.byte, 0, handles.comm_world);
    if (!is_valid)
        return {};
    slots.resize(size_t(size));
    constexpr int most = 1 << 24;  // entries whose bytes an int can count
    for (int at = 0; at < size; at += most)
        library.Bcast(&slots[size_t(at)], 4 * std::min(most, size - at), handles.byte, 0, handles.comm_world);
    return slots;
}

/// Frees the world of ours when MPI_Finalize deletes the attributes of MPI_COMM_SELF: this one is the first
/// that was set, so it is deleted last, and attributes of our world are deleted as MPI_COMM_WORLD's would be.
int free_ordered_world(MPI_Comm, int, void*, void*) noexcept {
    MPI_Comm ordered = worlds.ordered;
    const int result = library.Comm_free(&ordered);
    worlds.ordered = worlds.program;
    return result;
}

int copy_to_none(MPI_Comm, int, void*, void*, void*, int* copies) noexcept {
    *copies = 0;
    return MPI_SUCCESS;
}

/// MPI has been initialised: makes the world in another order, from here on the program's MPI_COMM_WORLD.
/// Collective over the world; rank 0 reads the order. An invalid order changes nothing and is reported once.
/// Ranks that were spawned keep their order: the file is for their parents.
void reorder_world(ProgramWorld& world) noexcept {
    if (!*runtime.options.rank_order || world.of_sessions || world.spawned)
        return;
    try {
        int rank = 0, size = 0;
        library.Comm_rank(handles.comm_world, &rank);
        library.Comm_size(handles.comm_world, &size);
        const std::vector<int32_t> slots = common_order(rank, size);
        if (slots.empty())
            return;
        const int new_rank = ranks_by_slot(slots)[size_t(rank)];
        MPI_Comm ordered{};
        if (library.Comm_split(handles.comm_world, 0, new_rank, &ordered) != MPI_SUCCESS)
            return;
        library.Comm_set_name(ordered, "MPI_COMM_WORLD");
        int key = 0;
        if (library.Comm_create_keyval(copy_to_none, free_ordered_world, &key, nullptr) == MPI_SUCCESS)
            library.Comm_set_attr(handles.comm_self, key, nullptr);
        worlds.ordered = ordered;
        if (world.has_group)
            library.Group_free(&world.group);
        world.has_group = library.Comm_group(handles.comm_world, &world.group) == MPI_SUCCESS;
    } catch (const std::exception&) {
        say_once("this rank has no memory for an order of ranks; the others may wait for it");
    }
}

}  // namespace

void reorder_group(MPI_Group& group) noexcept {
    int size = 0, rank = 0;
    if (!*runtime.options.rank_order || library.Group_size(group, &size) != MPI_SUCCESS)
        return;
    library.Group_rank(group, &rank);
    const SlotOrder order = read_order(runtime.options.rank_order, size);
    MPI_Group reordered{};
    if (!order.is_valid()) {
        if (rank == 0)
            say_unchanged(order);
    } else if (library.Group_incl(group, size, order.slots.data(), &reordered) == MPI_SUCCESS) {
        library.Group_free(&group);
        group = reordered;
    }
}

extern constinit const Layer layer_rank_order;
constinit const Layer layer_rank_order{
    .name = "rank order",
    .enabled = [](const Options& options) noexcept { return *options.rank_order || *options.honour_reorder; },
    .interest =
        [](symbols::Function function) noexcept {
            const symbols::NextFunction ours = before_library(function);
            return ours.next || ours.library ? Interest::replace : Interest::none;
        },
    .replace = insert_before,
    .on_library = insert_before_own_calls,
    .on_init = reorder_world,
};

}  // namespace mpiric::order
