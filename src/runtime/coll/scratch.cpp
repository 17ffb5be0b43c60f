#include "coll/scratch.hpp"

#include <algorithm>
#include <cstdlib>

namespace mpiric::coll {
namespace {

constexpr size_t line = 64;

struct Block {
    char* base = nullptr;
    size_t capacity = 0, used = 0, wanted = 0;

    ~Block() { std::free(base); }

    void grow() noexcept {
        std::free(base);
        base = static_cast<char*>(std::aligned_alloc(4096, (wanted + 4095) / 4096 * 4096));
        capacity = base ? wanted : 0;
    }
};
thread_local Block block;

}  // namespace

Scratch::Scratch(size_t bytes) noexcept : bytes_((bytes + line) / line * line) {
    Block& from = block;
    from.wanted = std::max(from.wanted, from.used + bytes_);
    if (from.used == 0 && from.wanted > from.capacity)
        from.grow();
    own_ = from.used + bytes_ > from.capacity;
    data_ = own_ ? static_cast<char*>(std::aligned_alloc(line, bytes_)) : from.base + from.used;
    from.used += bytes_;
}

Scratch::~Scratch() {
    block.used -= bytes_;
    if (own_)
        std::free(data_);
}

}  // namespace mpiric::coll
