// A library of its own that recorded runs have in front of the allocator: counts and times its calls.
//
// It allocates nothing and hands every call on, to glibc's allocator or to whatever else is loaded. Runs that
// are not recorded do not load it.
#include "allocator/totals.hpp"
#include "base/clock.hpp"
#include "processor.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <iterator>

namespace {

using mpiric::ticks;

constexpr size_t large_bytes = 128u << 10;  // M_MMAP_THRESHOLD

/// Counts of the threads that share a slot. With more threads than slots a few of them get lost.
struct alignas(64) Slot {
    uint64_t calls = 0, large_calls = 0, ticks = 0;
};

struct Moment {
    uint64_t ticks, ns;
};
Moment now() noexcept { return {ticks(), mpiric::now_ns()}; }

/// The next definitions, as in RTLD_NEXT.
struct Functions {
    void* (*malloc)(size_t);
    void* (*calloc)(size_t, size_t);
    void* (*realloc)(void*, size_t);
    void (*free)(void*);
    void* (*memalign)(size_t, size_t);
    void* (*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void**, size_t, size_t);
};

struct State {
    Slot slots[64];
    std::atomic<uint32_t> threads{0};
    Functions functions{};
    std::atomic<bool> found{false};  ///< `functions` are there
    /// Memory for dlsym, which allocates in older glibc while the allocator is looked for; never freed.
    alignas(std::max_align_t) char early[16 << 10] = {};
    size_t early_used = 0;
};
constinit State state;

struct ThreadState {
    Slot* slot = nullptr;
    uint32_t depth = 0;    ///< number of nested calls
    bool looking = false;  ///< true while this thread looks up the functions
};
constinit thread_local ThreadState own;

const Moment loaded_at = now();

void add(uint64_t& count, uint64_t more) noexcept {
    __atomic_store_n(&count, __atomic_load_n(&count, __ATOMIC_RELAXED) + more, __ATOMIC_RELAXED);
}

Slot& slot() noexcept {
    if (!own.slot)
        own.slot =
            &state.slots[state.threads.fetch_add(1, std::memory_order_relaxed) % std::size(state.slots)];
    return *own.slot;
}

/// Time from the construction to the end of the block. Of nested calls, only the outermost is timed.
class Timed {
  public:
    Timed() noexcept : begin_(own.depth++ == 0 ? ticks() : 0) {}
    explicit Timed(size_t bytes) noexcept : Timed() {
        add(slot().calls, 1);
        if (bytes >= large_bytes)
            add(slot().large_calls, 1);
    }
    ~Timed() {
        if (--own.depth == 0)
            add(slot().ticks, ticks() - begin_);
    }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

  private:
    uint64_t begin_;
};

void* early_memory(size_t bytes) noexcept {
    const size_t whole =
        (bytes + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t);
    if (whole < bytes || whole > sizeof state.early - state.early_used)
        return nullptr;
    state.early_used += whole;
    return state.early + (state.early_used - whole);
}

bool is_early(const void* memory) noexcept {
    return memory >= static_cast<void*>(state.early) &&
           memory < static_cast<void*>(state.early + sizeof state.early);
}

template <class Function> void look_up(Function& function, const char* name) noexcept {
    function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

/// Null while the look-up is under way in this thread. All are looked up by the first call, at the start of
/// the process: dlsym must not be called from the free or malloc of another dlsym, whose error is kept there.
const Functions* next() noexcept {
    if (state.found.load(std::memory_order_acquire))
        return &state.functions;
    if (own.looking)
        return nullptr;
    own.looking = true;
    look_up(state.functions.malloc, "malloc");
    look_up(state.functions.calloc, "calloc");
    look_up(state.functions.realloc, "realloc");
    look_up(state.functions.free, "free");
    look_up(state.functions.memalign, "memalign");
    look_up(state.functions.aligned_alloc, "aligned_alloc");
    look_up(state.functions.posix_memalign, "posix_memalign");
    own.looking = false;
    state.found.store(true, std::memory_order_release);
    return &state.functions;
}

[[gnu::constructor]] void look_up_all() noexcept { next(); }

}  // namespace

extern "C" {

void* malloc(size_t bytes) noexcept {
    const Timed timed(bytes);
    const Functions* const following = next();
    return following ? following->malloc(bytes) : early_memory(bytes);
}

void* calloc(size_t count, size_t each_bytes) noexcept {
    const Timed timed(count > SIZE_MAX / (each_bytes | 1) ? 0 : count * each_bytes);
    const Functions* const following = next();
    return following ? following->calloc(count, each_bytes)
                     : early_memory(count * each_bytes);  // zeroed already
}

void* realloc(void* memory, size_t bytes) noexcept {
    const Timed timed(bytes);
    const Functions* const following = next();
    if (following && !is_early(memory))
        return following->realloc(memory, bytes);
    void* const larger = following ? following->malloc(bytes) : early_memory(bytes);
    if (larger && memory)
        std::memcpy(larger, memory,
                    std::min(bytes, size_t(state.early + sizeof state.early - static_cast<char*>(memory))));
    return larger;
}

void free(void* memory) noexcept {
    const Timed timed;
    const Functions* const following = next();
    if (following && memory && !is_early(memory))
        following->free(memory);
}

void* memalign(size_t alignment, size_t bytes) noexcept {
    const Timed timed(bytes);
    const Functions* const following = next();
    return following ? following->memalign(alignment, bytes) : nullptr;
}

void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
    const Timed timed(bytes);
    const Functions* const following = next();
    return following ? following->aligned_alloc(alignment, bytes) : nullptr;
}

int posix_memalign(void** memory, size_t alignment, size_t bytes) noexcept {
    const Timed timed(bytes);
    const Functions* const following = next();
    return following ? following->posix_memalign(memory, alignment, bytes) : ENOMEM;
}

mpiric::allocator::Totals mpiric_allocator_totals() noexcept {
    const Moment at = now();
    const double ns_per_tick =
        double(at.ns - loaded_at.ns) / double(std::max<uint64_t>(1, at.ticks - loaded_at.ticks));
    mpiric::allocator::Totals totals{};
    uint64_t spent = 0;
    for (const Slot& each : state.slots) {
        totals.calls += __atomic_load_n(&each.calls, __ATOMIC_RELAXED);
        totals.large_calls += __atomic_load_n(&each.large_calls, __ATOMIC_RELAXED);
        spent += __atomic_load_n(&each.ticks, __ATOMIC_RELAXED);
    }
    totals.time_ns = uint64_t(double(spent) * ns_per_tick);
    return totals;
}

}  // extern "C"
