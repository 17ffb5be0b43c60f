// probe-collectives: measures the time of a library's collectives in its current configuration.
//
//   mpiexec -n 8 probe-collectives SECONDS COLLECTIVE:RANKS:PER_NODE:BYTES…
//
// Rank 0 prints one JSON line per point. A point runs on the first nodes of the job, with PER_NODE ranks on
// each and RANKS in total; the other ranks sleep. COLLECTIVE is allreduce, iallreduce, …; a nonblocking one
// is started and waited for. BYTES is the size as spec/formats/policy.md defines it, and the block of one
// rank for v-forms without a definition there; all blocks are equal. Calls are made in batches. The root
// changes from call to call, so that no rank runs ahead; the slowest rank determines the time of a batch. If
// one call takes longer than the time for a point, fewer calls are made (`sweep_estimate.py` computes the
// same number). The result of one call is checked: "wrong" is the number of ranks with a wrong result;
// "preempted" is the share of the batches in which a rank lost its CPU.
#include "collective_calls.hpp"
#include "collective_results.hpp"
#include "preemption.hpp"

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <optional>
#include <string>
#include <string_view>
#include <time.h>
#include <vector>

using namespace mpiric::probes;

namespace {

constexpr int usual_batches = 11;
constexpr int least_batches = 3;
constexpr int most_calls = 2000;
constexpr int usage = 2;
constexpr int answer_tag = 1;

struct Point {
    std::string name;
    const Collective* collective;
    int ranks;
    int per_node;
    int bytes;
};

struct Place {
    int node;
    int on_node;
};

std::optional<int> number(std::string_view text) {
    int value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() ? std::optional{value}
                                                                               : std::nullopt;
}

std::optional<Point> parse(std::string_view word) {
    std::vector<std::string_view> parts;
    for (std::size_t end = 0; (end = word.find(':')) != std::string_view::npos; word.remove_prefix(end + 1)) {
        parts.push_back(word.substr(0, end));
    }
    parts.push_back(word);
    if (parts.size() != 4) {
        return std::nullopt;
    }
    const auto ranks = number(parts[1]);
    const auto per_node = number(parts[2]);
    const auto bytes = number(parts[3]);
    if (!ranks || !per_node || !bytes || *ranks < 1 || *per_node < 1 || *bytes < 0) {
        return std::nullopt;
    }
    const Collective* const collective = find_collective(parts[0]);
    if (collective == nullptr || (collective->has_counts && *bytes > INT_MAX / *ranks)) {
        return std::nullopt;
    }
    return Point{.name = std::string(parts[0]),
                 .collective = collective,
                 .ranks = *ranks,
                 .per_node = *per_node,
                 .bytes = *bytes};
}

// Nodes are numbered in the order of their first rank in the world.
Place place() {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    Place mine{};
    MPI_Comm_rank(node, &mine.on_node);
    int first = rank;
    MPI_Bcast(&first, 1, MPI_INT, 0, node);
    MPI_Comm_free(&node);
    std::vector<int> firsts(static_cast<std::size_t>(size));
    MPI_Allgather(&first, 1, MPI_INT, firsts.data(), 1, MPI_INT, MPI_COMM_WORLD);
    std::sort(firsts.begin(), firsts.end());
    firsts.erase(std::unique(firsts.begin(), firsts.end()), firsts.end());
    mine.node = static_cast<int>(std::lower_bound(firsts.begin(), firsts.end(), first) - firsts.begin());
    return mine;
}

// The first RANKS ranks on the first nodes, PER_NODE on each; null on other ranks and if there are too few.
MPI_Comm members(const Point& point, const Place& mine) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int nodes = (point.ranks + point.per_node - 1) / point.per_node;
    const bool chosen = mine.node < nodes && mine.on_node < point.per_node;
    MPI_Comm wide = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, chosen ? 0 : MPI_UNDEFINED, rank, &wide);
    if (wide == MPI_COMM_NULL) {
        return MPI_COMM_NULL;
    }
    int position = 0;
    int size = 0;
    MPI_Comm_rank(wide, &position);
    MPI_Comm_size(wide, &size);
    MPI_Comm exact = MPI_COMM_NULL;
    const bool in = size >= point.ranks && position < point.ranks;
    MPI_Comm_split(wide, in ? 0 : MPI_UNDEFINED, position, &exact);
    MPI_Comm_free(&wide);
    return exact;
}

// State shared by all calls of one point.
class Calls {
  public:
    Calls(const Point& point, MPI_Comm comm)
        : point_{point}, collective_{*point.collective}, comm_{comm},
          type_{adds_up(collective_.result) ? MPI_FLOAT : MPI_BYTE},
          count_{adds_up(collective_.result) ? point.bytes / static_cast<int>(sizeof(float)) : point.bytes} {
        MPI_Comm_size(comm, &size_);
        const auto ranks = static_cast<std::size_t>(size_);
        const std::size_t block = static_cast<std::size_t>(point.bytes) + 8;
        buffers_.in.resize(block * (collective_.gives_blocks ? ranks : 1));
        buffers_.out.resize(block * (collective_.takes_blocks ? ranks : 1));
        counts_.assign(ranks, count_);
        for (std::size_t rank = 0; collective_.has_counts && rank < ranks; ++rank) {
            places_.push_back(static_cast<int>(rank) * count_);
        }
    }

    // Seconds per call of the slowest rank.
    double batch(int calls) {
        MPI_Barrier(comm_);
        const double begun = MPI_Wtime();
        for (int i = 0; i < calls; ++i) {
            make(i % size_);
        }
        double mine = (MPI_Wtime() - begun) / calls;
        double slowest = 0;
        MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, comm_);
        return slowest;
    }

    // On rank 0: number of ranks with a wrong result after a call. Uses messages only, because the collective
    // under test may be wrong itself.
    int wrong() {
        const int root = size_ - 1;
        fill(buffers_, collective_, count_, root, comm_);
        make(root);
        int rank = 0;
        MPI_Comm_rank(comm_, &rank);
        int ranks = is_right(buffers_, collective_, count_, root, comm_) ? 0 : 1;
        if (rank != 0) {
            MPI_Send(&ranks, 1, MPI_INT, 0, answer_tag, comm_);
        }
        for (int other = 1; rank == 0 && other < size_; ++other) {
            int count = 0;
            MPI_Recv(&count, 1, MPI_INT, other, answer_tag, comm_, MPI_STATUS_IGNORE);
            ranks += count;
        }
        return ranks;
    }

  private:
    void make(int root) {
        const Call call{.in = buffers_.in.data(),
                        .out = buffers_.out.data(),
                        .count = count_,
                        .type = type_,
                        .counts = counts_.data(),
                        .places = places_.data(),
                        .root = root,
                        .comm = comm_};
        if (!is_nonblocking(point_.name)) {
            collective_.blocking(call);
            return;
        }
        MPI_Request request = MPI_REQUEST_NULL;
        collective_.nonblocking(call, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }

    const Point& point_;
    const Collective& collective_;
    MPI_Comm comm_;
    MPI_Datatype type_;
    int count_;
    int size_ = 0;
    Buffers buffers_;
    std::vector<int> counts_;
    std::vector<int> places_;
};

// The first calls set up connections. If mpiric's runtime is active, it uses its own algorithms only after a
// dozen calls on a communicator.
int first_calls() { return std::getenv("MPIRIC_COLLECTIVES") != nullptr ? 16 : 2; }

void measure(const Point& point, double seconds, MPI_Comm comm) {
    Calls calls{point, comm};
    calls.batch(first_calls());
    const int wrong = calls.wrong();
    const double once = calls.batch(2);
    const int batches = once > seconds ? least_batches : usual_batches;
    const int in_batch =
        std::clamp(static_cast<int>(seconds / batches / std::max(once, 1e-9)), 1, most_calls);
    std::vector<double> times(static_cast<std::size_t>(batches));
    std::vector<int> preempted(times.size());
    Preemption preemption;
    for (std::size_t batch = 0; batch < times.size(); ++batch) {
        times[batch] = calls.batch(in_batch);
        preempted[batch] = preemption.seen() ? 1 : 0;
    }
    std::sort(times.begin(), times.end());
    std::vector<int> on_any(preempted.size());
    MPI_Allreduce(preempted.data(), on_any.data(), batches, MPI_INT, MPI_MAX, comm);
    const double share = static_cast<double>(std::count(on_any.begin(), on_any.end(), 1)) / batches;
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        std::printf("{\"collective\":\"%s\",\"ranks\":%d,\"per_node\":%d,\"bytes\":%d,\"calls\":%d,"
                    "\"median_s\":%.9g,\"low_s\":%.9g,\"high_s\":%.9g,\"preempted\":%.3g,\"wrong\":%d}\n",
                    point.name.c_str(), point.ranks, point.per_node, point.bytes, in_batch * batches,
                    times[times.size() / 2], times[times.size() / 4],
                    times[times.size() - 1 - times.size() / 4], share, wrong);
        std::fflush(stdout);
    }
}

// Idle ranks must not use the cores of the measured ranks.
void wait_for_all() {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int done = 0;;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done != 0) {
            return;
        }
        const timespec nap{.tv_sec = 0, .tv_nsec = 1'000'000};
        nanosleep(&nap, nullptr);
    }
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const double seconds = argc > 1 ? std::strtod(argv[1], nullptr) : 0;
    const Place mine = place();
    for (int i = 2; i < argc; ++i) {
        const auto point = parse(argv[i]);
        if (!point || !(seconds > 0)) {
            std::fputs("usage: probe-collectives SECONDS COLLECTIVE:RANKS:PER_NODE:BYTES...\n", stderr);
            MPI_Abort(MPI_COMM_WORLD, usage);
            return usage;
        }
        MPI_Comm comm = members(*point, mine);
        if (comm != MPI_COMM_NULL) {
            measure(*point, seconds, comm);
            MPI_Comm_free(&comm);
        }
        wait_for_all();
    }
    MPI_Finalize();
    return EXIT_SUCCESS;
}
