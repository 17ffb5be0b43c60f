// probe-collectives: how long a library's collectives take, as it is set up.
//
//   mpiexec -n 8 probe-collectives SECONDS COLLECTIVE:RANKS:PER_NODE:BYTES…
//
// One JSON line a point, on rank 0. A point runs on the first nodes of the job, PER_NODE ranks on each, RANKS
// in all; the other ranks sleep. BYTES is the size as spec/formats/policy.md defines it. Calls come in
// batches; the root moves on from call to call, so that no rank runs ahead; a batch counts with its slowest
// rank. Where one call takes longer than a point should, few have to do.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <optional>
#include <string>
#include <string_view>
#include <time.h>
#include <vector>

namespace {

constexpr int usual_batches = 11;
constexpr int least_batches = 3;
constexpr int most_calls = 2000;
constexpr int usage = 2;

struct Point {
    std::string collective;
    int ranks;
    int per_node;
    int bytes;
};

struct Place {
    int node;
    int on_node;
};

struct Buffers {
    std::vector<unsigned char> in;
    std::vector<unsigned char> out;
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
    return Point{
        .collective = std::string(parts[0]), .ranks = *ranks, .per_node = *per_node, .bytes = *bytes};
}

// Nodes are numbered in the order in which they appear along the ranks of the world.
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

// The first RANKS of the ranks that sit on the first nodes, PER_NODE on each; null elsewhere and when too
// few.
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

// One call; false for a collective that is not known here.
bool call(const Point& point, Buffers& buffers, int root, int size, MPI_Comm comm) {
    const int bytes = point.bytes;
    const int floats = bytes / static_cast<int>(sizeof(float));
    void* const in = buffers.in.data();
    void* const out = buffers.out.data();
    const std::string_view name = point.collective;
    if (name == "allreduce") {
        MPI_Allreduce(in, out, floats, MPI_FLOAT, MPI_SUM, comm);
    } else if (name == "reduce") {
        MPI_Reduce(in, out, floats, MPI_FLOAT, MPI_SUM, root, comm);
    } else if (name == "bcast") {
        MPI_Bcast(in, bytes, MPI_BYTE, root, comm);
    } else if (name == "barrier") {
        MPI_Barrier(comm);
    } else if (name == "allgather") {
        MPI_Allgather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, comm);
    } else if (name == "alltoall") {
        MPI_Alltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, comm);
    } else if (name == "gather") {
        MPI_Gather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, root, comm);
    } else if (name == "scatter") {
        MPI_Scatter(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, root, comm);
    } else if (name == "reduce_scatter_block") {
        MPI_Reduce_scatter_block(in, out, floats, MPI_FLOAT, MPI_SUM, comm);
    } else if (name == "reduce_scatter") {
        const std::vector<int> counts(static_cast<std::size_t>(size), floats);
        MPI_Reduce_scatter(in, out, counts.data(), MPI_FLOAT, MPI_SUM, comm);
    } else {
        return false;
    }
    return true;
}

// Seconds a call of the slowest rank.
double batch(const Point& point, Buffers& buffers, int calls, int size, MPI_Comm comm) {
    MPI_Barrier(comm);
    const double begun = MPI_Wtime();
    for (int i = 0; i < calls; ++i) {
        if (!call(point, buffers, i % size, size, comm)) {
            MPI_Abort(MPI_COMM_WORLD, usage);
        }
    }
    double mine = (MPI_Wtime() - begun) / calls;
    double slowest = 0;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, comm);
    return slowest;
}

// First calls set up connections. mpiric's runtime, where it is at work, brings its own algorithms in only
// after a dozen calls on a communicator.
int first_calls() { return std::getenv("MPIRIC_COLLECTIVES") != nullptr ? 16 : 2; }

void measure(const Point& point, double seconds, MPI_Comm comm) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const std::size_t room = (static_cast<std::size_t>(point.bytes) + 8) * static_cast<std::size_t>(size);
    Buffers buffers{.in = std::vector<unsigned char>(room), .out = std::vector<unsigned char>(room)};
    batch(point, buffers, first_calls(), size, comm);
    const double once = batch(point, buffers, 2, size, comm);
    const int batches = once > seconds ? least_batches : usual_batches;
    const int calls = std::clamp(static_cast<int>(seconds / batches / std::max(once, 1e-9)), 1, most_calls);
    std::vector<double> times(static_cast<std::size_t>(batches));
    for (double& time : times) {
        time = batch(point, buffers, calls, size, comm);
    }
    std::sort(times.begin(), times.end());
    if (rank == 0) {
        std::printf("{\"collective\":\"%s\",\"ranks\":%d,\"per_node\":%d,\"bytes\":%d,\"calls\":%d,"
                    "\"median_s\":%.9g,\"low_s\":%.9g,\"high_s\":%.9g}\n",
                    point.collective.c_str(), point.ranks, point.per_node, point.bytes, calls * batches,
                    times[times.size() / 2], times[times.size() / 4],
                    times[times.size() - 1 - times.size() / 4]);
        std::fflush(stdout);
    }
}

// Ranks that take no part must not take the cores of those that do.
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
