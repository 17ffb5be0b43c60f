// Allgather: stages of the algorithms of this folder and of those that end with one.
#pragma once

#include "coll/blocks.hpp"
#include "coll/buffers.hpp"
#include "coll/rank_blocks.hpp"

namespace mpiric::coll {

/// Block first + r of `data`, in bytes, comes from local rank r, through the board.
int shared_allgather(const Team& team, char* data, const Blocks& blocks, int first = 0) noexcept;
/// Block r of `data` comes from member r, by messages. See the file of the same name.
int ring_allgather(const Team& team, const Group& group, char* data, const Blocks& blocks) noexcept;
/// The same for powers of two.
int recursive_doubling_allgather(const Team& team, const Group& group, char* data,
                                 const Blocks& blocks) noexcept;

/// What this rank gives and gets in an allgather or allgatherv, as one row of bytes.
class Gathering {
  public:
    explicit Gathering(const Call& call);

    char* data() const noexcept { return data_; }
    const Blocks& blocks() const noexcept { return blocks_; }
    /// Puts this rank's block into its place in data().
    int begin() noexcept;
    /// Puts data() into the program's buffer.
    int end() noexcept;

  private:
    const Call& call_;
    Geometry type_;
    RankBlocks<char> displacements_;
    Blocks blocks_;
    bool direct_;  ///< the program's buffer is that row
    Scratch whole_;
    char* data_;
};

/// Bytes of scratch memory a Gathering may take.
inline uint64_t gathering_scratch(const Shape& shape) noexcept {
    return shape.collective == Collective::allgather ? shape.bytes * uint64_t(shape.layout.size)
                                                     : shape.bytes;
}

}  // namespace mpiric::coll
