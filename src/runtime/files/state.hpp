// State of the files that the program has open, for the record.
#pragma once

#include "base/handle_map.hpp"
#include "files/trail.hpp"
#include "profile/format.hpp"

#include <atomic>
#include <cstdint>

namespace mpiric::files {

inline constexpr int descriptor_count = 4096;  // descriptors above are not followed

struct Descriptor {
    profile::File* row = nullptr;
    int64_t position = 0;  ///< position of the next access at the descriptor's own position
    Trail trail;
};

/// A file that is open through MPI-IO.
struct OpenFile {
    profile::File* row = nullptr;
    int64_t elementary_bytes = 1;  ///< size of the view's elementary type
    Trail trail;
};

struct State {
    Descriptor descriptors[descriptor_count];
    HandleMap<OpenFile, 256> open_files;
    std::atomic<int> hints_noted{0};  ///< files whose hints were written
};
inline constinit State state;

}  // namespace mpiric::files
