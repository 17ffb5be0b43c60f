// The board of a node: a ring of slots for each rank in memory that they share. Made and owned by a Team.
#include "coll/board.hpp"

#include "world/agreement.hpp"
#include "world/patience.hpp"

#include <memory>
#include <new>
#include <sys/uio.h>
#include <unistd.h>

namespace mpiric::coll {
namespace {

using world::library;

constexpr uint64_t word_to_read = 0x6D70697269632121;  // "mpiric!!"

/// Bytes of one slot: boards of full nodes take a few MiB all the same.
uint32_t plan_slot_bytes(int ranks) noexcept {
    if (ranks <= 16)
        return 32 << 10;
    return ranks <= 64 ? 16 << 10 : 8 << 10;
}

}  // namespace

/// `finished`, which others wait for, has a cache line of its own.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): that line is the padding
struct alignas(64) Board::Head {
    std::atomic<uint64_t> finished;
    alignas(64) uint64_t secret;
    uint64_t secret_address;
    pid_t pid;
};

/// Short contents share the cache line of the number that announces them.
struct alignas(64) Board::Slot {
    std::atomic<uint64_t> published;
    char brief[short_bytes];
    char* bulk() noexcept { return reinterpret_cast<char*>(this + 1); }
};

Board* Board::make(MPI_Comm node, MPI_Comm comm) noexcept {
    std::unique_ptr<Board> board{new (std::nothrow) Board};
    const auto [shared, rank, size] = world::with_rank(node);
    const uint32_t slot_bytes = plan_slot_bytes(size);
    const size_t stride = sizeof(Head) + depth * (sizeof(Slot) + slot_bytes);
    SharedMemory without_board;
    SharedMemory& memory = board ? board->memory_ : without_board;
    if (!memory.map(node, stride, board && board->remember(size)))
        return nullptr;
    board->rank_ = rank;
    board->size_ = size;
    board->slot_bytes_ = slot_bytes;
    board->stride_ = stride;
    board->comm_ = comm;
    board->head(rank).pid = getpid();
    board->head(rank).secret = word_to_read ^ uint64_t(rank);
    board->head(rank).secret_address = reinterpret_cast<uint64_t>(&board->head(rank).secret);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    library.Barrier(node);
    board->direct_reads_ = board->try_direct_reads();
    return board.release();
}

bool Board::remember(int size) noexcept {
    try {
        finished_.assign(size_t(size), 0);
        pids_.assign(size_t(size), 0);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

Board::Head& Board::head(int rank) const noexcept {
    return *reinterpret_cast<Head*>(memory_.data() + stride_ * size_t(rank));
}

Board::Slot& Board::slot(int rank) const noexcept {
    return *reinterpret_cast<Slot*>(memory_.data() + stride_ * size_t(rank) + sizeof(Head) +
                                    (sizeof(Slot) + slot_bytes_) * (step_ % depth));
}

char* Board::data_of(int rank, uint64_t bytes) const noexcept {
    Slot& own = slot(rank);
    return bytes <= short_bytes ? own.brief : own.bulk();
}

bool Board::try_direct_reads() noexcept {
    for (int other = 0; other < size_; ++other)
        pids_[size_t(other)] = head(other).pid;
    for (int other = 0; other < size_; ++other) {
        uint64_t word = 0;
        if (!read(other, reinterpret_cast<const void*>(head(other).secret_address), &word, sizeof word) ||
            word != (word_to_read ^ uint64_t(other)))
            return false;
    }
    return true;
}

void Board::wait_finished(int rank, uint64_t step) noexcept {
    if (finished_[size_t(rank)] >= step) [[likely]]
        return;
    const std::atomic<uint64_t>& there = head(rank).finished;
    world::Patience patience{comm_};
    uint64_t now;
    while ((now = there.load(std::memory_order_acquire)) < step)
        patience.once();
    finished_[size_t(rank)] = now;
}

char* Board::fill(uint64_t bytes) noexcept {
    if (finished_by_all_ + depth <= step_) {
        uint64_t least = UINT64_MAX;
        for (int other = 0; other < size_; ++other) {
            wait_finished(other, step_ + 1 - depth);
            least = std::min(least, finished_[size_t(other)]);
        }
        finished_by_all_ = least;
    }
    return data_of(rank_, bytes);
}

void Board::publish() noexcept { slot(rank_).published.store(step_ + 1, std::memory_order_release); }

const char* Board::look(int rank, uint64_t bytes) noexcept {
    const std::atomic<uint64_t>& there = slot(rank).published;
    world::Patience patience{comm_};
    while (there.load(std::memory_order_acquire) < step_ + 1)
        patience.once();
    return data_of(rank, bytes);
}

void Board::finish() noexcept { head(rank_).finished.store(++step_, std::memory_order_release); }

bool Board::read(int rank, const void* from, void* into, uint64_t bytes) const noexcept {
    auto* to = static_cast<char*>(into);
    auto* source = static_cast<const char*>(from);
    while (bytes > 0) {
        const iovec local{to, bytes}, remote{const_cast<char*>(source), bytes};
        const ssize_t got = process_vm_readv(pids_[size_t(rank)], &local, 1, &remote, 1, 0);
        if (got <= 0)
            return false;
        to += got;
        source += got;
        bytes -= uint64_t(got);
    }
    return true;
}

}  // namespace mpiric::coll
