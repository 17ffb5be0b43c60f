#include "world/merge.hpp"

#include "profile/merged_file.hpp"
#include "profile/recorder.hpp"
#include "world/library.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>

namespace mpiric::world {
namespace {

constexpr int tag = 1;
constexpr size_t chunk_bytes = 64u << 20;  // a count of bytes is an int

/// In front of each image while it travels.
struct Envelope {
    uint64_t rank, bytes;
};

struct Freed {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
};

/// A growing run of envelopes and images. Short memory makes it give up, never throw.
class Bundle {
  public:
    std::byte* room_for(size_t bytes) noexcept {
        if (used_ + bytes > capacity_) {
            const size_t wanted = std::max(used_ + bytes, capacity_ * 2);
            auto* larger = static_cast<std::byte*>(std::realloc(memory_.get(), wanted));
            if (!larger)
                return nullptr;
            (void)memory_.release();
            memory_.reset(larger);
            capacity_ = wanted;
        }
        return memory_.get() + used_;
    }
    void took(size_t bytes) noexcept { used_ += bytes; }
    std::byte* data() const noexcept { return memory_.get(); }
    size_t size() const noexcept { return used_; }

  private:
    std::unique_ptr<std::byte, Freed> memory_;
    size_t used_ = 0, capacity_ = 0;
};

/// A communicator of our own over the world, on which errors come back to us instead of ending the program.
/// Made when MPI begins: the world has no attributes yet whose callbacks a duplicate would call. Its error
/// handler is not touched for it: in MPICH, copies of a communicator that was never given one obey that of
/// the world as it is when the error comes, and one that was given the default back would end the program.
constinit MPI_Comm shadow{};
constinit bool shadow_is_there = false;

/// Waits without keeping the processor from ranks that have not come so far: with many of them on few cores,
/// a library that spins makes each message cost a turn of them all, and so do hundreds that wake at once.
bool completes(MPI_Request& request) noexcept {
    constexpr int spins = 100;
    constexpr long longest_ns = 1'000'000;
    timespec pause = {0, 20'000};
    for (int turn = 0;; ++turn) {
        int done = 0;
        if (library.Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return false;
        if (done)
            return true;
        if (turn < spins)
            continue;
        nanosleep(&pause, nullptr);
        pause.tv_nsec = std::min(2 * pause.tv_nsec, longest_ns);
    }
}

/// Moves bytes in pieces that an int can count. `begin` begins one piece.
template <class Byte, class Begin> bool move(Byte* at, size_t bytes, Begin&& begin) noexcept {
    do {
        const size_t part = std::min(bytes, chunk_bytes);
        MPI_Request request{};
        if (begin(at, int(part), &request) != MPI_SUCCESS || !completes(request))
            return false;
        at += part;
        bytes -= part;
    } while (bytes > 0);
    return true;
}

bool send(const void* from, size_t bytes, int to) noexcept {
    return move(static_cast<const std::byte*>(from), bytes, [to](auto* at, int part, MPI_Request* request) {
        return library.Isend(at, part, handles.byte, to, tag, shadow, request);
    });
}

bool receive(void* to, size_t bytes, int from) noexcept {
    return move(static_cast<std::byte*>(to), bytes, [from](auto* at, int part, MPI_Request* request) {
        return library.Irecv(at, part, handles.byte, from, tag, shadow, request);
    });
}

/// This rank's image; an empty bundle when it has none.
Bundle own_image(const Merging& merging) noexcept {
    Bundle bundle;
    if (!merging.recorder)
        return bundle;
    std::byte* room = bundle.room_for(sizeof(Envelope) + merging.recorder->compact_bytes());
    if (!room)
        return bundle;
    const Envelope envelope = {uint64_t(merging.world_rank),
                               merging.recorder->compact(room + sizeof envelope)};
    std::memcpy(room, &envelope, sizeof envelope);
    bundle.took(sizeof envelope + envelope.bytes);
    return bundle;
}

/// Takes the bundle of a child. Its size comes first; the answer says whether there is memory for it.
bool take_from(int child, Bundle& bundle) noexcept {
    uint64_t bytes = 0;
    if (!receive(&bytes, sizeof bytes, child))
        return false;
    std::byte* room = bytes ? bundle.room_for(bytes) : nullptr;
    const uint64_t accepted = room != nullptr;
    if (!send(&accepted, sizeof accepted, child))
        return false;
    if (!accepted)
        return true;
    if (!receive(room, bytes, child))
        return false;
    bundle.took(bytes);
    return true;
}

/// Hands the bundle to the parent. `accepted` becomes false when the parent has no memory for it.
bool give_to(int parent, const Bundle& bundle, bool& accepted) noexcept {
    const uint64_t bytes = bundle.size();
    uint64_t answer = 0;
    if (!send(&bytes, sizeof bytes, parent) || !receive(&answer, sizeof answer, parent))
        return false;
    accepted = answer != 0;
    return !accepted || send(bundle.data(), bytes, parent);
}

/// Everything that came to the root, into one file. Every rank of the world must be there: a partial file
/// would hide the rest.
bool write(const Merging& merging, const Bundle& bundle) noexcept {
    std::unique_ptr<profile::RankImage, decltype(&std::free)> images(
        static_cast<profile::RankImage*>(std::calloc(size_t(merging.world_size), sizeof(profile::RankImage))),
        &std::free);
    if (!images)
        return false;
    int count = 0;
    for (size_t at = 0; at < bundle.size() && count < merging.world_size;) {
        Envelope envelope;
        std::memcpy(&envelope, bundle.data() + at, sizeof envelope);
        at += sizeof envelope;
        images.get()[count++] = {uint32_t(envelope.rank), {bundle.data() + at, envelope.bytes}};
        at += envelope.bytes;
    }
    std::sort(
        images.get(), images.get() + count,
        [](const profile::RankImage& one, const profile::RankImage& other) { return one.rank < other.rank; });
    return count > 0 && profile::write_merged(merging.directory, uint32_t(merging.world_size),
                                              {images.get(), size_t(count)}, merging.names);
}

bool merge_up_the_tree(const Merging& merging) noexcept {
    Bundle bundle = own_image(merging);
    const int rank = merging.world_rank;
    int step = 1;
    for (; step < merging.world_size && (rank & step) == 0; step *= 2)
        if (rank + step < merging.world_size && !take_from(rank + step, bundle))
            return false;
    uint64_t written = 0;
    bool accepted = true;
    if (rank == 0)
        written = write(merging, bundle);
    else if (!give_to(rank - step, bundle, accepted) || !receive(&written, sizeof written, rank - step))
        return false;
    // The answer goes down the same tree; below an image that was refused, the ranks keep their files.
    written = written && accepted;
    for (int child = step / 2; child > 0; child /= 2)
        if (rank + child < merging.world_size)
            send(&written, sizeof written, rank + child);
    return written != 0;
}

}  // namespace

void prepare_merge() noexcept {
    MPI_Request request{};
    shadow_is_there =
        library.Comm_idup(handles.comm_world, &shadow, &request) == MPI_SUCCESS && completes(request);
    if (shadow_is_there)
        library.Comm_set_errhandler(shadow, handles.errors_return);
}

bool merge(const Merging& merging) noexcept {
    if (!shadow_is_there)
        return false;
    const bool merged = merge_up_the_tree(merging);
    library.Comm_free(&shadow);
    shadow_is_there = false;
    return merged;
}

}  // namespace mpiric::world
