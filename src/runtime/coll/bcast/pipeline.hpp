// A message that travels in segments, each rank passing on what has come.
#pragma once

#include "coll/bcast/stages.hpp"

namespace mpiric::coll {

/// Where segments of one kind come from and go to; ranks of the team.
struct Neighbours {
    int parent = nobody;
    int children[2] = {nobody, nobody};
};

/// Segment s travels by `trees[s % trees]`.
template <size_t trees>
int pipeline(const Team& team, const Neighbours (&by)[trees], char* data, uint64_t bytes, uint64_t segment) {
    Requests sent{size_t(2 * (bytes / segment + 1))};
    size_t number = 0;
    for (uint64_t done = 0; done < bytes; done += segment, ++number) {
        const uint64_t piece = std::min(segment, bytes - done);
        const Neighbours& here = by[number % trees];
        if (here.parent != nobody)
            MPIRIC_TRY(receive(team, data + done, piece, here.parent));
        for (const int child : here.children)
            if (child != nobody)
                MPIRIC_TRY(sent.send(team, data + done, piece, child));
    }
    return sent.wait();
}

}  // namespace mpiric::coll
