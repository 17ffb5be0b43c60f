// Orders for vertices on a grid: nested blocks of smallest surface, and the curves of Morton (1966) and
// Hilbert (in any number of dimensions: Skilling 2004).
#include "algorithms/algorithms.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <set>

namespace mpiric::mapper {
namespace {

using Extents = std::vector<std::size_t>;

Extents coordinates_of(std::size_t vertex, const Extents& extents) {
    Extents at(extents.size());
    for (std::size_t d = extents.size(); d-- > 0; vertex /= extents[d])
        at[d] = vertex % extents[d];
    return at;
}

std::size_t surface(const Extents& block) {
    std::size_t volume = 1;
    for (const std::size_t extent : block)
        volume *= extent;
    std::size_t faces = 0;
    for (const std::size_t extent : block)
        faces += extent == 0 ? 0 : 2 * volume / extent;
    return faces;
}

// Tries all ways to cut `block` into `parts` equal blocks; keeps the cuts with the smallest surface.
void search_cuts(const Extents& block, std::size_t parts, std::size_t dimension, Extents& cuts, Extents& best,
                 std::size_t& best_surface) {
    if (dimension == block.size()) {
        if (parts != 1)
            return;
        Extents inner(block.size());
        for (std::size_t d = 0; d < block.size(); ++d)
            inner[d] = block[d] / cuts[d];
        if (surface(inner) < best_surface) {
            best_surface = surface(inner);
            best = cuts;
        }
        return;
    }
    for (std::size_t cut = 1; cut <= std::min(parts, block[dimension]); ++cut)
        if (parts % cut == 0 && block[dimension] % cut == 0) {
            cuts[dimension] = cut;
            search_cuts(block, parts / cut, dimension + 1, cuts, best, best_surface);
        }
}

// Returns how each level cuts the blocks of the outer level; empty if the levels do not fit the grid.
std::vector<Extents> nested_cuts(const Extents& extents, const std::vector<std::size_t>& fan_outs) {
    std::vector<Extents> levels;
    Extents block = extents;
    for (const std::size_t fan_out : fan_outs) {
        Extents cuts(block.size(), 1);
        Extents best;
        std::size_t best_surface = std::numeric_limits<std::size_t>::max();
        search_cuts(block, fan_out, 0, cuts, best, best_surface);
        if (best.empty())
            return {};
        for (std::size_t d = 0; d < block.size(); ++d)
            block[d] /= best[d];
        levels.push_back(best);
    }
    return levels;
}

// Proceeds from the inside: the innermost block has the smallest surface, then the next outer one, ….
std::vector<Extents> nested_cuts_from_inside(const Extents& extents,
                                             const std::vector<std::size_t>& fan_outs) {
    std::vector<Extents> levels;
    Extents block = extents;
    std::size_t outer = 1;
    for (const std::size_t fan_out : fan_outs)
        outer *= fan_out;
    for (std::size_t i = fan_outs.size(); i-- > 0;) {
        // Cuts of `block` into the `outer` blocks of this level.
        Extents cuts(block.size(), 1);
        Extents best;
        std::size_t best_surface = std::numeric_limits<std::size_t>::max();
        outer /= fan_outs[i];
        search_cuts(block, outer, 0, cuts, best, best_surface);
        if (best.empty())
            return {};
        Extents factor(block.size());
        for (std::size_t d = 0; d < block.size(); ++d)
            factor[d] = block[d] / best[d];
        levels.insert(levels.begin(), factor);
        block = best;
    }
    return levels;
}

std::vector<std::size_t> fan_outs_of(const Machine& machine) {
    std::vector<std::size_t> fan_outs;  // outermost first
    std::size_t above = 1;
    for (std::size_t level = machine.groups.size() - 1; level-- > 0;) {
        const std::size_t count = machine.groups[level].back() + 1U;
        if (count % above != 0)
            return {};
        fan_outs.push_back(count / above);
        above = count;
    }
    if (machine.slots % above != 0)
        return {};
    fan_outs.push_back(machine.slots / above);
    for (const auto& group : machine.groups)
        for (std::size_t slot = 0; slot < machine.slots; ++slot)
            if (group[slot] != slot * (group.back() + 1U) / machine.slots)
                return {};
    return fan_outs;
}

Slots nested_order(const Extents& extents, const std::vector<Extents>& levels, std::size_t vertices) {
    Slots slot_of(vertices);
    for (std::size_t v = 0; v < vertices; ++v) {
        Extents at = coordinates_of(v, extents);
        Extents block = extents;
        std::size_t slot = 0;
        for (const Extents& cuts : levels)
            for (std::size_t d = 0; d < block.size(); ++d) {
                block[d] /= cuts[d];
                slot = slot * cuts[d] + at[d] / block[d];
                at[d] %= block[d];
            }
        slot_of[v] = static_cast<std::uint32_t>(slot);
    }
    return slot_of;
}

// Skilling's transformation of coordinates of `bits` bits into the transposed index along Hilbert's curve.
void to_hilbert(Extents& at, unsigned bits) {
    const std::size_t n = at.size();
    for (std::size_t q = std::size_t{1} << (bits - 1); q > 1; q >>= 1U) {
        const std::size_t p = q - 1;
        for (std::size_t i = 0; i < n; ++i) {
            if ((at[i] & q) != 0) {
                at[0] ^= p;
            } else {
                const std::size_t t = (at[0] ^ at[i]) & p;
                at[0] ^= t;
                at[i] ^= t;
            }
        }
    }
    for (std::size_t i = 1; i < n; ++i)
        at[i] ^= at[i - 1];
    std::size_t t = 0;
    for (std::size_t q = std::size_t{1} << (bits - 1); q > 1; q >>= 1U)
        if ((at[n - 1] & q) != 0)
            t ^= q - 1;
    for (std::size_t& each : at)
        each ^= t;
}

Slots along_curve(const Extents& extents, std::size_t vertices, bool is_hilbert) {
    const auto bits = static_cast<unsigned>(std::max<int>(
        1, static_cast<int>(std::bit_width(*std::max_element(extents.begin(), extents.end()) - 1))));
    std::vector<std::pair<std::size_t, std::uint32_t>> keys;
    keys.reserve(vertices);
    for (std::size_t v = 0; v < vertices; ++v) {
        Extents at = coordinates_of(v, extents);
        if (is_hilbert)
            to_hilbert(at, bits);
        std::size_t key = 0;
        for (unsigned bit = bits; bit-- > 0;)
            for (const std::size_t coordinate : at)
                key = key << 1U | (coordinate >> bit & 1U);
        keys.emplace_back(key, static_cast<std::uint32_t>(v));
    }
    std::sort(keys.begin(), keys.end());
    Slots slot_of(vertices);
    for (std::size_t i = 0; i < vertices; ++i)
        slot_of[keys[i].second] = static_cast<std::uint32_t>(i);
    return slot_of;
}

Extents extents_of(const Extents& strides, std::size_t vertices) {
    Extents extents;
    for (std::size_t i = strides.size(); i-- > 0; vertices = strides[i])
        extents.push_back(vertices / strides[i]);
    return extents;
}

// Extends the strides, each a multiple of the previous one, until the graph is a grid with them; empty if it
// is not a grid.
Extents find_strides(const Graph& graph, const Extents& differences, Extents& strides,
                     std::size_t& attempts) {
    if (attempts == 0)
        return {};
    --attempts;
    if (strides.size() > 1)
        if (const Extents extents = extents_of(strides, graph.size()); is_grid(graph, extents))
            return extents;
    for (const std::size_t next : differences) {
        if (next <= strides.back() || next % strides.back() != 0 || graph.size() % next != 0)
            continue;
        strides.push_back(next);
        Extents found = find_strides(graph, differences, strides, attempts);
        if (!found.empty())
            return found;
        strides.pop_back();
    }
    return {};
}

}  // namespace

bool is_grid(const Graph& graph, const std::vector<std::size_t>& extents) {
    for (Vertex v = 0; v < graph.size(); ++v)
        for (const Arc& arc : graph.arcs_of(v)) {
            std::size_t a = v;
            std::size_t b = arc.target;
            for (std::size_t d = extents.size(); d-- > 0; a /= extents[d], b /= extents[d]) {
                const std::size_t steps =
                    std::max(a % extents[d], b % extents[d]) - std::min(a % extents[d], b % extents[d]);
                if (steps > 1 && steps + 1 != extents[d])
                    return false;
            }
        }
    return true;
}

std::vector<Classic> grid_orders(const Grid& grid, const Machine& machine) {
    std::size_t vertices = 1;
    for (const std::size_t extent : grid.extents)
        vertices *= extent;
    if (vertices != machine.slots || grid.extents.empty())
        return {};
    std::vector<Classic> found;
    if (const auto fan_outs = fan_outs_of(machine); !fan_outs.empty()) {
        if (const auto levels = nested_cuts(grid.extents, fan_outs); !levels.empty())
            found.push_back({"grid blocks", nested_order(grid.extents, levels, vertices)});
        if (const auto levels = nested_cuts_from_inside(grid.extents, fan_outs); !levels.empty())
            found.push_back({"grid blocks from inside", nested_order(grid.extents, levels, vertices)});
    }
    const auto bits = static_cast<std::size_t>(
        std::bit_width(*std::max_element(grid.extents.begin(), grid.extents.end()) - 1));
    if (bits * grid.extents.size() < 64) {
        found.push_back({"Hilbert's curve", along_curve(grid.extents, vertices, true)});
        found.push_back({"Morton's curve", along_curve(grid.extents, vertices, false)});
    }
    return found;
}

// The differences between numbers of neighbours include 1, a row, a plane, …; all combinations of them are
// tried as strides.
Grid find_grid(const Graph& graph) {
    constexpr std::size_t most = 64;  // above the number of a 27-point stencil on a periodic grid
    std::set<std::size_t> differences;
    for (Vertex v = 0; v < graph.size(); ++v)
        for (const Arc& arc : graph.arcs_of(v))
            if (arc.target > v) {
                differences.insert(arc.target - v);
                if (differences.size() > most)
                    return {};
            }
    if (!differences.contains(1))
        return {};
    Extents strides{1};
    std::size_t attempts = 200;
    return Grid{find_strides(graph, {differences.begin(), differences.end()}, strides, attempts)};
}

}  // namespace mpiric::mapper
