// Comparisons of the grid: datatypes and operations, buffers with margins, one call of the library against
// one of each algorithm that serves.
#pragma once

#include "coll/algorithm.hpp"
#include "coll/team.hpp"
#include "workload.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace grid {

using namespace mpiric;
using namespace mpiric::coll;

inline int me, size;
inline bool quick;
inline bool alike;                     ///< all ranks use the same datatypes: some libraries want that
inline std::vector<std::string> only;  ///< parts of the names of algorithms to compare; empty: all
inline long compared, failed;

/// As in `reduce/chain_16k`.
inline bool is_wanted(const Algorithm& algorithm) {
    const std::string name = std::string(name_of(algorithm.collective)) + "/" + algorithm.name;
    return only.empty() || std::ranges::any_of(only, [&](const std::string& part) {
               return name.find(part) != std::string::npos;
           });
}

/// Algorithms compared on a layout: all, or only algorithms that depend on the levels of a node's memory.
enum class Serving { all, by_levels };
inline Serving compared_here;

inline bool serves_here(const Algorithm& algorithm, const Workload& workload) {
    Workload flat = workload;
    flat.layout.memory_levels = 1;
    return is_wanted(algorithm) && serves(algorithm, workload) &&
           (compared_here == Serving::all || !serves(algorithm, flat));
}

// ---- datatypes and operations

struct Type {
    const char* name;
    MPI_Datatype handle;
    int ints;           ///< ints in one element; 0: elements of other types
    bool exact = true;  ///< bytes between data must stay as they are
};

struct Op {
    const char* name;
    MPI_Op handle;
    MPI_Datatype only;  ///< null: any type of ints
};

/// Composition of x → a·x + b: associative, not commutative. Elements of two ints with gaps, 16 bytes apart.
inline void compose(void* left, void* right, int* count, MPI_Datatype*) {
    for (int at = 0; at < *count; ++at) {
        int* f = static_cast<int*>(left) + 4 * at;
        int* g = static_cast<int*>(right) + 4 * at;
        const unsigned a = unsigned(f[0]) * unsigned(g[0]),
                       b = unsigned(f[2]) * unsigned(g[0]) + unsigned(g[2]);
        g[0] = int(a);
        g[2] = int(b);
    }
}

/// The same for two neighbouring ints.
inline void compose_dense(void* left, void* right, int* count, MPI_Datatype*) {
    for (int at = 0; at < *count; ++at) {
        int* f = static_cast<int*>(left) + 2 * at;
        int* g = static_cast<int*>(right) + 2 * at;
        const unsigned a = unsigned(f[0]) * unsigned(g[0]),
                       b = unsigned(f[1]) * unsigned(g[0]) + unsigned(g[1]);
        g[0] = int(a);
        g[1] = int(b);
    }
}

inline MPI_Datatype gapped, shifted, twin;
inline MPI_Op composition, dense_composition;

inline void make_handles() {
    MPI_Datatype base;
    MPI_Type_vector(2, 1, 2, MPI_INT, &base);
    MPI_Type_create_resized(base, 0, 16, &gapped);
    MPI_Type_commit(&gapped);
    const int lengths[2] = {1, 1};
    const MPI_Aint places[2] = {4, 12};
    const MPI_Datatype parts[2] = {MPI_INT, MPI_INT};
    MPI_Datatype lower;
    MPI_Type_create_struct(2, lengths, places, parts, &lower);
    MPI_Type_create_resized(lower, 4, 20, &shifted);
    MPI_Type_commit(&shifted);
    MPI_Type_contiguous(2, MPI_INT, &twin);
    MPI_Type_commit(&twin);
    MPI_Type_free(&base);
    MPI_Type_free(&lower);
    MPI_Op_create(compose, 0, &composition);
    MPI_Op_create(compose_dense, 0, &dense_composition);
}

// ---- buffers

inline MPI_Aint extent_of(MPI_Datatype type) {
    MPI_Aint lower, extent;
    MPI_Type_get_extent(type, &lower, &extent);
    return extent;
}

constexpr size_t margin = 64;

/// Room for `count` elements, filled with a pattern; equal seeds give equal contents.
struct Buffer {
    std::vector<unsigned char> bytes;
    explicit Buffer(long count, MPI_Datatype type, unsigned seed)
        : bytes(size_t(count) * size_t(extent_of(type)) + 2 * margin) {
        for (size_t at = 0; at < bytes.size(); ++at)
            bytes[at] =
                (unsigned char)((at / 4 * 7 + seed * 13) % 3 == 0 && at % 4 == 0 ? 1 + (at / 4 + seed) % 5
                                                                                 : 0);
    }
    void* data() { return bytes.data() + margin; }
    /// Whole numbers as doubles.
    void as_doubles(unsigned seed) {
        for (size_t at = margin; at + 8 <= bytes.size() - margin; at += 8) {
            const double value = double((at / 8 + seed) % 17);
            std::memcpy(&bytes[at], &value, 8);
        }
    }
};

inline void fill(Buffer& buffer, MPI_Datatype type, unsigned seed) {
    if (type == MPI_DOUBLE)
        buffer.as_doubles(seed);
    if (type == MPI_DOUBLE_INT) {
        struct Pair {
            double value;
            int place;
        };
        for (size_t at = margin; at + sizeof(Pair) <= buffer.bytes.size() - margin; at += sizeof(Pair)) {
            Pair pair{};
            pair.value = double((at / 16 + seed) % 5);
            pair.place = int(seed);
            std::memcpy(&buffer.bytes[at], &pair, sizeof pair);
        }
    }
}

inline std::vector<unsigned char> packed(Buffer& buffer, long count, MPI_Datatype type) {
    int bytes = 0, place = 0;
    MPI_Pack_size(int(count), type, MPI_COMM_WORLD, &bytes);
    std::vector<unsigned char> out(size_t(bytes) + 1);
    MPI_Pack(buffer.data(), int(count), type, out.data(), bytes, &place, MPI_COMM_WORLD);
    out.resize(size_t(place));
    return out;
}

// ---- comparing

struct Case {
    Collective collective;
    std::string words;
};

enum class Compare { whole, front, nothing };

/// Calls the library and each algorithm that serves, on equal buffers.
using Library = std::function<int(void* receive)>;
using Fill = std::function<void(Arguments& call, void* receive)>;

inline void compare(Team* team, const char* layout, const Case& tried, long elements, MPI_Datatype type,
                    Compare what, const Buffer& before, const Library& library, const Fill& arguments) {
    Buffer expected = before;
    Arguments asked{*team};
    arguments(asked, expected.data());
    const Workload workload = workload_of(tried.collective, asked);
    std::vector<const Algorithm*> serving;
    for (const Algorithm* algorithm : algorithms())
        if (algorithm->collective == tried.collective && serves_here(*algorithm, workload))
            serving.push_back(algorithm);
    if (serving.empty())
        return;
    library(expected.data());
    for (const Algorithm* algorithm : serving) {
        Buffer got = before;
        Arguments call{*team};
        arguments(call, got.data());
        ++compared;
        if (std::getenv("GRID_TRACE"))
            std::fprintf(stderr, "[%d] %s/%s %s %s\n", me, name_of(tried.collective).data(), algorithm->name,
                         layout, tried.words.c_str());
        const int code = algorithm->run(call);
        // Pairs have padding, which nobody has to keep.
        const bool same = what == Compare::whole && type != MPI_DOUBLE_INT
                              ? got.bytes == expected.bytes
                              : packed(got, elements, type) == packed(expected, elements, type);
        const bool significant = what != Compare::nothing;
        if (code != MPI_SUCCESS || (significant && !same)) {
            ++failed;
            if (failed < 20)
                std::printf("rank %d of %d: %s/%s on %s, %s: code %d, %s\n", me, size,
                            name_of(tried.collective).data(), algorithm->name, layout, tried.words.c_str(),
                            code, same ? "same" : "differs");
        }
    }
}

inline std::string words(const char* type, const char* op, long count, bool in_place, int root) {
    return std::string(type) + " " + op + " count " + std::to_string(count) + (in_place ? " in place" : "") +
           " root " + std::to_string(root);
}

inline std::vector<int> roots() {
    if (size == 1)
        return {0};
    return quick ? std::vector<int>{0, size - 1} : std::vector<int>{0, 1, size / 2, size - 1};
}

/// Odd ranks describe the same data with gaps.
struct Side {
    MPI_Datatype type;
    long count;
};
Side side(bool odd, bool mixed, long pairs) {
    if (mixed && odd)
        return {gapped, pairs};
    return mixed ? Side{MPI_INT, 2 * pairs} : Side{shifted, pairs};
}

inline std::vector<int> spread(const std::vector<int>& counts, int gap) {
    std::vector<int> places;
    int at = 0;
    for (const int count : counts) {
        places.push_back(at);
        at += count + gap;
    }
    return places;
}

/// Calls MPI_Reduce_scatter. For operations that do not commute MPICH 5.0 has an algorithm that takes
/// too little memory for elements with gaps, and writes beyond it.
inline int reduce_and_scatter(void* input, void* to, const std::vector<int>& parts, MPI_Datatype type,
                              MPI_Op op) {
    std::vector<int> places(parts.size());
    std::partial_sum(parts.begin(), parts.end() - 1, places.begin() + 1);
    const int count = places.back() + parts.back();
    Buffer whole(count, type, 0);
    if (const int code = MPI_Reduce(input, whole.data(), count, type, op, 0, MPI_COMM_WORLD))
        return code;
    return MPI_Scatterv(whole.data(), parts.data(), places.data(), type, to, parts[size_t(me)], type, 0,
                        MPI_COMM_WORLD);
}

}  // namespace grid
