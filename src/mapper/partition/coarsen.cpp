#include "partition/partition.hpp"

#include <algorithm>
#include <numeric>

namespace mpiric::mapper {
namespace {

class Clustering {
  public:
    Clustering(const Graph& graph, Weight heaviest, const Partition* within, std::vector<Vertex>& cluster_of)
        : graph_{graph}, heaviest_{heaviest}, within_{within}, cluster_of_{cluster_of},
          weights_{graph.vertex_weights}, is_shared_(graph.size(), 0), rating_(graph.size(), 0),
          favourite_(graph.size(), no_vertex) {
        cluster_of_.resize(graph.size());
        std::iota(cluster_of_.begin(), cluster_of_.end(), Vertex{0});
    }

    bool is_alone(Vertex v) const { return cluster_of_[v] == v && is_shared_[v] == 0; }

    // Joins the cluster with the best rating, if any is allowed.
    bool join_best(Vertex v) {
        rate(v);
        Vertex best = no_vertex;
        double best_rating = 0;
        double favourite_rating = 0;
        for (const Vertex other : touched_) {
            const auto shared = static_cast<double>(rating_[other]);
            const double rating = shared * shared / static_cast<double>(std::max<Weight>(weights_[other], 1));
            rating_[other] = 0;
            if (rating > favourite_rating) {
                favourite_rating = rating;
                favourite_[v] = other;
            }
            if (rating > best_rating && weights_[other] + weights_[v] <= heaviest_) {
                best_rating = rating;
                best = other;
            }
        }
        touched_.clear();
        if (best != no_vertex)
            join(v, best);
        return best != no_vertex;
    }

    // Merges single vertices that would all join one full cluster (around a hub) with each other.
    std::size_t pair_up(std::size_t remaining, std::size_t target) {
        std::vector<Vertex> waiting(graph_.size(), no_vertex);
        for (Vertex v = 0; v < graph_.size() && remaining > target; ++v) {
            if (!is_alone(v) || favourite_[v] == no_vertex)
                continue;
            Vertex& first = waiting[cluster_of_[favourite_[v]]];
            const bool may = first != no_vertex && weights_[first] + weights_[v] <= heaviest_ &&
                             (within_ == nullptr || (*within_)[first] == (*within_)[v]);
            if (!may) {
                first = v;
                continue;
            }
            join(v, first);
            first = no_vertex;
            --remaining;
        }
        return remaining;
    }

    // Numbers the clusters 0, 1, ….
    std::size_t number() {
        std::vector<Vertex> numbers(graph_.size(), no_vertex);
        Vertex count = 0;
        for (Vertex& c : cluster_of_) {
            if (numbers[c] == no_vertex)
                numbers[c] = count++;
            c = numbers[c];
        }
        return count;
    }

  private:
    void rate(Vertex v) {
        const std::size_t most = 1000;  // sample of the neighbours of a hub
        std::size_t seen = 0;
        for (const Arc& arc : graph_.arcs_of(v)) {
            if (++seen > most)
                break;
            if (within_ != nullptr && (*within_)[arc.target] != (*within_)[v])
                continue;
            const Vertex other = cluster_of_[arc.target];
            if (rating_[other] == 0)
                touched_.push_back(other);
            rating_[other] += arc.weight;
        }
    }

    void join(Vertex v, Vertex other) {
        cluster_of_[v] = other;
        weights_[other] += weights_[v];
        is_shared_[other] = 1;
    }

    const Graph& graph_;
    Weight heaviest_;
    const Partition* within_;
    std::vector<Vertex>& cluster_of_;
    std::vector<Weight> weights_;
    std::vector<char> is_shared_;
    std::vector<Weight> rating_;
    std::vector<Vertex> favourite_;
    std::vector<Vertex> touched_;
};

// Random order with memory locality: blocks of vertices in random order, each shuffled.
std::vector<Vertex> visiting_order(std::size_t size, Random& random) {
    constexpr std::size_t width = 1024;
    std::vector<Vertex> blocks((size + width - 1) / width);
    std::iota(blocks.begin(), blocks.end(), Vertex{0});
    random.shuffle(blocks);
    std::vector<Vertex> order;
    order.reserve(size);
    std::vector<Vertex> block;
    for (const Vertex b : blocks) {
        block.resize(std::min(width, size - b * width));
        std::iota(block.begin(), block.end(), static_cast<Vertex>(b * width));
        random.shuffle(block);
        order.insert(order.end(), block.begin(), block.end());
    }
    return order;
}

Partition restricted(const Partition& fine, const std::vector<Vertex>& cluster_of, std::size_t clusters) {
    Partition coarse(clusters);
    for (std::size_t v = 0; v < fine.size(); ++v)
        coarse[cluster_of[v]] = fine[v];
    return coarse;
}

}  // namespace

std::size_t cluster(const Graph& graph, Weight heaviest, std::size_t target, const Partition* within,
                    Random& random, std::vector<Vertex>& cluster_of) {
    Clustering clustering{graph, heaviest, within, cluster_of};
    std::size_t remaining = graph.size();
    for (const Vertex v : visiting_order(graph.size(), random)) {
        if (remaining <= target)
            break;
        if (clustering.is_alone(v) && clustering.join_best(v))
            --remaining;
    }
    if (remaining > target && static_cast<double>(remaining) > 0.8 * static_cast<double>(graph.size()))
        clustering.pair_up(remaining, target);
    return clustering.number();
}

Levels::Levels(const Graph& finest, std::size_t target, Weight heaviest, const Partition* within,
               double shrink, Random& random, unsigned threads)
    : finest_{&finest} {
    Partition classes = within == nullptr ? Partition{} : *within;
    coarse_.reserve(64);
    while (coarse_.size() < 64 && graph(count() - 1).size() > target) {
        const Graph& fine = graph(count() - 1);
        std::vector<Vertex> cluster_of;
        const auto wanted =
            std::max(target, static_cast<std::size_t>(static_cast<double>(fine.size()) / shrink));
        const std::size_t left =
            cluster(fine, heaviest, wanted, within == nullptr ? nullptr : &classes, random, cluster_of);
        if (static_cast<double>(left) > 0.97 * static_cast<double>(fine.size()))
            break;
        if (within != nullptr)
            classes = restricted(classes, cluster_of, left);
        Graph coarser = contract(fine, cluster_of, left, threads);
        cluster_of_.push_back(std::move(cluster_of));
        coarse_.push_back(std::move(coarser));
    }
}

Partition Levels::restrict(Partition partition) const {
    for (std::size_t level = 0; level < coarse_.size(); ++level)
        partition = restricted(partition, cluster_of_[level], coarse_[level].size());
    return partition;
}

Partition Levels::project(std::size_t level, const Partition& partition) const {
    const std::vector<Vertex>& cluster_of = cluster_of_[level - 1];
    Partition fine(cluster_of.size());
    for (std::size_t v = 0; v < fine.size(); ++v)
        fine[v] = partition[cluster_of[v]];
    return fine;
}

}  // namespace mpiric::mapper
