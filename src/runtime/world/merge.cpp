// Merges the records of all ranks up a binomial tree: each rank hands a bundle of images to its parent.
#include "world/merge.hpp"

#include "base/clock.hpp"
#include "base/say.hpp"
#include "profile/merged_file.hpp"
#include "profile/recorder.hpp"
#include "world/library.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <new>
#include <vector>

namespace mpiric::world {
namespace {

constexpr int image_tag = 1;
constexpr size_t image_chunk_bytes = 64u << 20;  // a count of bytes is an int
constexpr size_t first_bytes = 1u << 20;  // part of a bundle that its parent receives without being asked

/// Header of each image in a bundle, also of an image that is missing.
struct Envelope {
    uint64_t rank, bytes;
    /// Size of the bundle that begins with it; 0: something is missing, nothing follows.
    uint64_t bundle_bytes;
};

/// A growing run of envelopes and images. Short memory makes it give up, never throw.
class Bundle {
  public:
    std::byte* room_for(size_t bytes) noexcept try {
        memory_.resize(std::max(memory_.size(), used_ + bytes));
        return memory_.data() + used_;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
    void took(size_t bytes) noexcept { used_ += bytes; }
    std::byte* data() noexcept { return memory_.data(); }
    const std::byte* data() const noexcept { return memory_.data(); }
    size_t size() const noexcept { return used_; }

  private:
    std::vector<std::byte> memory_;
    size_t used_ = 0;
};

/// Waits without keeping the processor from ranks that have not come so far: with many of them on few cores,
/// each test costs a turn of them all. Pauses grow with the wait, to a sixteenth of it.
bool completes(MPI_Request& request) noexcept {
    constexpr uint64_t at_once_ns = 50'000, shortest_ns = 20'000, longest_ns = 8'000'000;
    const uint64_t begin = now_ns();
    for (;;) {
        int done = 0;
        if (library.Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return false;
        if (done)
            return true;
        const uint64_t waited = now_ns() - begin;
        if (waited < at_once_ns)
            continue;
        const timespec pause = {0, long(std::clamp(waited / 16, shortest_ns, longest_ns))};
        nanosleep(&pause, nullptr);
    }
}

/// Moves bytes in pieces that an int can count. `begin` begins one piece.
template <class Byte, class Begin> bool move(Byte* at, size_t bytes, Begin&& begin) noexcept {
    do {
        const size_t part = std::min(bytes, image_chunk_bytes);
        MPI_Request request{};
        if (begin(at, int(part), &request) != MPI_SUCCESS || !completes(request))
            return false;
        at += part;
        bytes -= part;
    } while (bytes > 0);
    return true;
}

/// Sends to and receives from other ranks, in pieces.
struct Link {
    MPI_Comm comm;

    bool send(const void* from, size_t bytes, int to) const noexcept {
        return move(static_cast<const std::byte*>(from), bytes,
                    [&](auto* at, int part, MPI_Request* request) {
                        return library.Isend(at, part, handles.byte, to, image_tag, comm, request);
                    });
    }
    bool receive(void* to, size_t bytes, int from) const noexcept {
        return move(static_cast<std::byte*>(to), bytes, [&](auto* at, int part, MPI_Request* request) {
            return library.Irecv(at, part, handles.byte, from, image_tag, comm, request);
        });
    }
};

/// This rank's image; an empty bundle when it has none any more, or no memory for it.
Bundle own_image(const Merging& merging) noexcept {
    Bundle bundle;
    if (!merging.recorder)
        return bundle;
    std::byte* room = bundle.room_for(sizeof(Envelope) + merging.recorder->compact_bytes());
    if (!room)
        return bundle;
    const Envelope envelope = {uint64_t(merging.world_rank),
                               merging.recorder->compact(room + sizeof envelope), 0};
    std::memcpy(room, &envelope, sizeof envelope);
    if (merging.recorder->is_open())  // its file may have been taken away meanwhile
        bundle.took(sizeof envelope + envelope.bytes);
    return bundle;
}

/// Takes the bundle of a child; false when something is missing: the bundle does not arrive, memory is short,
/// or the child's own bundle was incomplete. The part after the first piece is sent only after an answer.
bool take_from(const Link& link, int child, Bundle& bundle) noexcept {
    static std::byte nowhere[first_bytes];
    std::byte* room = bundle.room_for(first_bytes);
    std::byte* first = room ? room : nowhere;
    if (!link.receive(first, first_bytes, child))
        return false;
    Envelope lead;
    std::memcpy(&lead, first, sizeof lead);
    const size_t bytes = lead.bundle_bytes;
    if (bytes > first_bytes) {
        room = room ? bundle.room_for(bytes) : nullptr;
        const uint64_t accepted = room != nullptr;
        if (!link.send(&accepted, sizeof accepted, child) ||
            (accepted && !link.receive(room + first_bytes, bytes - first_bytes, child)))
            return false;
    }
    if (!room || bytes == 0)
        return false;
    bundle.took(bytes);
    return true;
}

/// Hands the bundle to the parent, or says that it is not whole.
bool give_to(const Link& link, int parent, Bundle& bundle, bool whole) noexcept {
    const uint64_t bytes = whole ? bundle.size() : 0;
    if (bytes == 0) {
        const Envelope nothing = {0, 0, whole ? sizeof nothing : 0};
        return link.send(&nothing, sizeof nothing, parent);
    }
    std::memcpy(bundle.data() + offsetof(Envelope, bundle_bytes), &bytes, sizeof bytes);
    if (bytes <= first_bytes)
        return link.send(bundle.data(), bytes, parent);
    uint64_t accepted = 0;
    return link.send(bundle.data(), first_bytes, parent) &&
           link.receive(&accepted, sizeof accepted, parent) &&
           (!accepted || link.send(bundle.data() + first_bytes, bytes - first_bytes, parent));
}

/// Everything that came to the root, into one file.
bool write(const Merging& merging, const Bundle& bundle) noexcept try {
    std::vector<profile::RankImage> images;
    for (size_t at = 0; at < bundle.size() && images.size() < size_t(merging.world_size);) {
        Envelope envelope;
        std::memcpy(&envelope, bundle.data() + at, sizeof envelope);
        at += sizeof envelope;
        if (envelope.bytes)
            images.push_back({uint32_t(envelope.rank), {bundle.data() + at, envelope.bytes}});
        at += envelope.bytes;
    }
    std::ranges::sort(images, {}, &profile::RankImage::rank);
    const char* reason = nullptr;
    if (images.empty() || profile::write_merged(merging.directory, merging.first_number,
                                                uint32_t(merging.world_size), images, merging.names, reason))
        return !images.empty();
    say_once("the records of the ranks could not be written to one file", reason);
    return false;
} catch (const std::bad_alloc&) {
    return false;
}

bool merge_up_the_tree(const Merging& merging) noexcept {
    const Link link{merging.comm};
    Bundle bundle = own_image(merging);
    bool whole = bundle.size() > 0 || !merging.recorder || !merging.recorder->is_open();
    const int rank = merging.world_rank;
    int step = 1;
    for (; step < merging.world_size && (rank & step) == 0; step *= 2)
        if (rank + step < merging.world_size)
            whole = take_from(link, rank + step, bundle) && whole;
    uint64_t written = 0;
    if (rank == 0)
        written = whole && write(merging, bundle);
    else if (!give_to(link, rank - step, bundle, whole) ||
             !link.receive(&written, sizeof written, rank - step))
        written = 0;
    for (int child = step / 2; child > 0; child /= 2)
        if (rank + child < merging.world_size)
            link.send(&written, sizeof written, rank + child);
    return written != 0;
}

}  // namespace

MPI_Comm make_merge_comm(Made when) noexcept {
    MPI_Comm comm = handles.comm_null;
    bool made = false;
    if (when == Made::at_beginning) {
        MPI_Request request{};
        made = library.Comm_idup(handles.comm_world, &comm, &request) == MPI_SUCCESS && completes(request);
    } else {
        int rank = 0;
        library.Comm_rank(handles.comm_world, &rank);
        made = library.Comm_split(handles.comm_world, 0, rank, &comm) == MPI_SUCCESS;
    }
    if (!made)
        return handles.comm_null;
    library.Comm_set_errhandler(comm, handles.errors_return);
    return comm;
}

bool merge(Merging& merging) noexcept {
    if (merging.comm == handles.comm_null)
        return false;
    const bool merged = merge_up_the_tree(merging);
    library.Comm_free(&merging.comm);
    return merged;
}

}  // namespace mpiric::world
