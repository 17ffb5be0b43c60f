// A path that a call names, where what it names may be on some node's disk.
#pragma once

#include "files/node_local/links.hpp"

#include <cerrno>
#include <cstdint>

namespace mpiric::files::node_local {

inline constinit bool begun = false;

class Settled {
  public:
    enum class Use : uint8_t {
        looks,   ///< at its size or times: it is looked at where it is, when that is this node
        changes  ///< the file or its name, or opens it, to see what is written later: it comes home first
    };

    Settled(int directory, const char* path, Use use) noexcept : own_(path), path_(path) {
        if (begun) [[unlikely]]
            settle_name(directory, use);
    }
    /// Calls with the path that is to be named; again with the file's own, where it has come home meanwhile.
    template <class Call> int with(Call&& call) const noexcept {
        const int result = call(path_);
        return result < 0 && errno == ENOENT && path_ != own_ ? call(own_) : result;
    }

  private:
    void settle_name(int directory, Use use) noexcept;

    const char* own_;
    const char* path_;
    Link link_;
};

}  // namespace mpiric::files::node_local
