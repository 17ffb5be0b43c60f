// Scratch memory of a thread, and the program's buffers as plain bytes in it.
#include "coll/buffers.hpp"
#include "coll/blocks.hpp"
#include <algorithm>
#include <cstdlib>
#include <cstring>

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

/// Copies elements without gaps; false if elements of the type have gaps.
bool copied_densely(const Geometry& type, const void* from, void* into, uint64_t bytes) noexcept {
    if (bytes != 0 && type.dense() && into != from)
        std::memcpy(into, from, bytes);
    return bytes == 0 || type.dense();
}

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

int pack(const Team& team, const void* from, MPI_Count count, MPI_Datatype type, char* into) noexcept {
    const Geometry known = geometry_of(type);
    const uint64_t bytes = known.size * uint64_t(count);
    int place = 0;
    if (copied_densely(known, from, into, bytes))
        return MPI_SUCCESS;
    return world::library.Pack(from, int(count), type, into, int(bytes), &place, team.comm());
}

int unpack(const Team& team, const char* from, void* into, MPI_Count count, MPI_Datatype type) noexcept {
    const Geometry known = geometry_of(type);
    const uint64_t bytes = known.size * uint64_t(count);
    int place = 0;
    if (copied_densely(known, from, into, bytes))
        return MPI_SUCCESS;
    return world::library.Unpack(from, int(bytes), &place, into, int(count), type, team.comm());
}

int pack_own(const Arguments& call, char* into) noexcept {
    if (call.send != MPI_IN_PLACE)
        return pack(call.team, call.send, call.send_count, call.send_type, into);
    const RankBlocks<char> blocks = received_by(call);
    const int me = call.team.rank();
    return pack(call.team, blocks.at(me), blocks.count(me), blocks.type(), into);
}

Source::Source(const Team& team, const void* from, MPI_Count count, MPI_Datatype type) noexcept
    : bytes_(uint64_t(count) * world::size_of(type)), dense_(geometry_of(type).dense()),
      packed_(dense_ ? 0 : bytes_), data_(dense_ ? static_cast<const char*>(from) : packed_.data()) {
    if (!dense_)
        error_ = data_ ? pack(team, from, count, type, packed_.data()) : MPI_ERR_NO_MEM;
}

Target::Target(const Team& team, void* into, MPI_Count count, MPI_Datatype type) noexcept
    : team_(team), into_(into), count_(count), type_(type), bytes_(uint64_t(count) * world::size_of(type)),
      dense_(geometry_of(type).dense()), packed_(dense_ ? 0 : bytes_),
      data_(dense_ ? static_cast<char*>(into) : packed_.data()) {}

}  // namespace mpiric::coll
