// scale CALLS COLLECTIVE:BYTES…: the algorithms of src/runtime/coll and the tuner's learning, simulated by
// SimGrid's SMPI.
//
// For each size, every algorithm of ours that serves and what MPICH picks ("library") run CALLS
// times in a row from a common start, in simulated time, the root moving on; the slowest rank counts. The
// learner of src/runtime/tune is then fed with those times, disturbed as on a real machine, until it settles.
// Rank 0 prints a JSON line for each size. The ranks of a node do not share memory here, so the forms that
// need that do not serve.
//
// All ranks live in one process and nobody looks at the data: they share their buffers and scratch memory, no
// message is copied in earnest, and a reduction only takes time.
#include "coll/algorithm.hpp"
#include "coll/scratch.hpp"
#include "coll/shape.hpp"
#include "coll/team.hpp"
#include "tune/learner.hpp"
#include "world/agreement.hpp"
#include "world/library.hpp"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <smpi/smpi.h>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace {

constexpr size_t megabyte = size_t(1) << 20;
constexpr size_t data_bytes = 512 * megabyte;  // each of send, receive and scratch

/// The memory of all ranks.
char* common_memory() {
    static char* const memory = static_cast<char*>(SMPI_SHARED_MALLOC(3 * data_bytes));
    return memory;
}

}  // namespace

// In the place of src/runtime/coll/scratch.cpp.
namespace mpiric::coll {
Scratch::Scratch(size_t bytes) noexcept : data_(common_memory() + 2 * data_bytes), bytes_(bytes) {}
Scratch::~Scratch() = default;
}  // namespace mpiric::coll

// Of libsimgrid, in no header of it: algorithms of MPI libraries.
namespace simgrid::smpi {
int allreduce__rab_rdb(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
int allreduce__rdb(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
int barrier__ompi_bruck(MPI_Comm);
int bcast__binomial_tree(void*, int, MPI_Datatype, int, MPI_Comm);
int bcast__scatter_LR_allgather(void*, int, MPI_Datatype, int, MPI_Comm);
int bcast__scatter_rdb_allgather(void*, int, MPI_Datatype, int, MPI_Comm);
int reduce__binomial(const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
int reduce__scatter_gather(const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
}  // namespace simgrid::smpi

namespace {

using namespace mpiric;

// What a measured time has beside the simulated one. Detours are what the system takes from a rank now and
// then: the more ranks, the more of them fall into one call (Hoefler, Schneider, Lumsdaine, "Characterizing
// the influence of system noise on large-scale applications by simulation", SC 2010).
constexpr double spread = 0.05;         // of a logarithm
constexpr double detours_a_second = 5;  // of one rank
constexpr double detour_seconds = 30e-6;

constexpr double start_seconds = 1;      // until all ranks have come to the start, in simulated time
constexpr uint64_t most_calls = 20'000;  // of a key, until the learner should have decided
constexpr uint64_t most_messages = 300'000;
constexpr int least_charged_bytes = 4096;

struct Timed {
    std::string name;
    double seconds;
};

/// Messages that all ranks together send, roughly: what takes too long is left out.
uint64_t messages_of(std::string_view name, uint64_t ranks, uint64_t bytes) {
    for (const auto& [suffix, piece] : {std::pair{"_16k", 16'384}, {"_128k", 131'072}})
        if (name.ends_with(suffix))
            return ranks * (bytes / uint64_t(piece) + 1);
    for (const char* one :
         {"ring", "scatter_allgather", "scatter_gather", "pairwise", "linear", "neighbour_exchange"})
        if (name.find(one) != std::string_view::npos)
            return ranks * ranks;
    return ranks * 16;
}

/// The operation of all reductions: the host's speed is in bytes a second.
void take_time(void*, void*, int* count, MPI_Datatype*) {
    const int bytes = *count * int(sizeof(float));
    if (bytes >= least_charged_bytes)
        smpi_execute_flops(bytes);
}

MPI_Op reduction() {
    static const MPI_Op op = [] {
        MPI_Op made;
        MPI_Op_create(take_time, 1, &made);
        return made;
    }();
    return op;
}

coll::Call arguments(coll::Team& team, Collective collective, uint64_t bytes) {
    coll::Call call{team};
    call.send = common_memory(), call.receive = common_memory() + data_bytes;
    call.send_type = call.receive_type = reduces(collective) ? MPI_FLOAT : MPI_BYTE;
    call.send_count = call.receive_count = MPI_Count(reduces(collective) ? bytes / sizeof(float) : bytes);
    call.op = reduction();
    return call;
}

/// What MPICH picks where the ranks are a power of two: its thresholds are
/// MPIR_CVAR_<COLLECTIVE>_SHORT_MSG_SIZE and _LONG_MSG_SIZE. SMPI's own selector takes three rings through
/// all ranks before its first choice, and other algorithms. By MPI's operation, which takes no time here: for
/// those of users MPICH has other algorithms.
int library_call(Collective collective, const coll::Call& call) {
    namespace smpi = simgrid::smpi;
    const MPI_Comm comm = call.team.comm();
    const int count = int(call.receive_count);
    void* send = const_cast<void*>(call.send);
    const bool divides = count >= call.team.size() && size_t(count) * sizeof(float) > 2048;
    switch (collective) {
    case Collective::allreduce: {
        const auto run = divides ? smpi::allreduce__rab_rdb : smpi::allreduce__rdb;
        return run(send, call.receive, count, MPI_FLOAT, MPI_SUM, comm);
    }
    case Collective::bcast: {
        const auto run = count < 12'288    ? smpi::bcast__binomial_tree
                         : count < 524'288 ? smpi::bcast__scatter_rdb_allgather
                                           : smpi::bcast__scatter_LR_allgather;
        return run(call.receive, count, MPI_BYTE, call.root, comm);
    }
    case Collective::reduce: {
        const auto run = divides ? smpi::reduce__scatter_gather : smpi::reduce__binomial;
        return run(send, call.receive, count, MPI_FLOAT, MPI_SUM, call.root, comm);
    }
    case Collective::allgather:
        return MPI_Allgather(send, count, MPI_BYTE, call.receive, count, MPI_BYTE, comm);
    case Collective::alltoall:
        return MPI_Alltoall(send, count, MPI_BYTE, call.receive, count, MPI_BYTE, comm);
    case Collective::barrier:
        return smpi::barrier__ompi_bruck(comm);
    default:
        return MPI_ERR_ARG;
    }
}

/// The largest of all ranks' seconds.
double latest(const coll::Team& team, double seconds) {
    uint64_t bits = std::bit_cast<uint64_t>(seconds);  // of what is not negative these are in the same order
    if (!world::allreduce_max({team.comm(), team.rank(), team.size()}, {&bits, 1}))
        MPI_Abort(team.comm(), 1);
    return std::bit_cast<double>(bits);
}

/// Seconds a call of the slowest rank, from a common start.
template <class Run> double simulated(coll::Call& call, int calls, Run&& run) {
    const double begin = latest(call.team, MPI_Wtime()) + start_seconds;
    const double rest = begin - MPI_Wtime();
    const timespec nap = {time_t(rest), long((rest - std::floor(rest)) * 1e9)};
    smpi_nanosleep(&nap, nullptr);
    for (int at = 0; at < calls; ++at) {
        call.root = at % call.team.size();
        if (run() != MPI_SUCCESS)
            MPI_Abort(call.team.comm(), 1);
    }
    return latest(call.team, (MPI_Wtime() - begin) / calls);
}

/// As measured: longer by its own spread and by the longest of the detours that fall into it.
class Disturbed {
  public:
    Disturbed(int ranks, unsigned seed) : ranks_(ranks), random_(seed) {}
    double operator()(double seconds) {
        std::poisson_distribution<int> how_many(detours_a_second * ranks_ * seconds);
        double longest = 0;
        for (int left = std::min(how_many(random_), most_drawn); left > 0; --left)
            longest = std::max(longest, detour_(random_));
        return seconds * std::exp(std::abs(spread_(random_))) + longest;
    }

  private:
    static constexpr int most_drawn = 1000;
    int ranks_;
    std::mt19937 random_;
    std::normal_distribution<double> spread_{0, spread};
    std::exponential_distribution<double> detour_{1 / detour_seconds};
};

/// Which candidate the learner settles on, and what that costs.
struct Learned {
    size_t choice = 0;
    uint64_t calls = 0, learning_calls = 0;
    double lost = 0;  ///< seconds more than the best candidate would have taken until then
};

Learned learn(const std::vector<Timed>& times, double best, Disturbed disturbed) {
    const std::vector<int32_t> parents(times.size(), tune::Race::no_parent);
    tune::Learner learner(parents, 0);
    Learned learned;
    double inside = 0;
    while (!learner.decided() && learned.calls < most_calls) {
        const tune::Step step = learner.next();
        const double took = disturbed(times[step.candidate].seconds);
        ++learned.calls;
        learned.lost += times[step.candidate].seconds - best;
        inside += step.measured ? took : 0;
        if (!step.ends_block)
            continue;
        learner.end_block({uint64_t(inside * 1e9), 0, 0});
        inside = 0;
    }
    learned.choice = learner.race().choice();
    learned.learning_calls = learner.learning_calls();
    return learned;
}

void print(Collective collective, int ranks, uint64_t bytes, const std::vector<Timed>& times) {
    size_t best = 0;
    for (size_t at = 0; at < times.size(); ++at)
        if (times[at].seconds < times[best].seconds)
            best = at;
    const Learned learned = learn(times, times[best].seconds, {ranks, unsigned(bytes)});
    std::printf(
        "{\"collective\": \"%s\", \"ranks\": %d, \"bytes\": %llu, \"best\": \"%s\", \"best_s\": %.9g, "
        "\"chosen\": \"%s\", \"chosen_s\": %.9g, \"calls\": %llu, \"learning_calls\": %llu, "
        "\"lost_s\": %.9g, \"times\": {",
        name_of(collective).data(), ranks, static_cast<unsigned long long>(bytes), times[best].name.c_str(),
        times[best].seconds, times[learned.choice].name.c_str(), times[learned.choice].seconds,
        static_cast<unsigned long long>(learned.calls), static_cast<unsigned long long>(learned.learning_calls),
        learned.lost);
    for (size_t at = 0; at < times.size(); ++at)
        std::printf("%s\"%s\": %.9g", at ? ", " : "", times[at].name.c_str(), times[at].seconds);
    std::printf("}}\n");
    std::fflush(stdout);
}

int alone(MPI_Comm, int, MPI_Comm* node) { return MPI_Comm_dup(MPI_COMM_SELF, node); }

void simulate(Collective collective, coll::Team& team, uint64_t bytes, int calls) {
    const int ranks = team.size();
    coll::Call call = arguments(team, collective, bytes);
    std::vector<Timed> times;
    times.push_back({"library", simulated(call, calls, [&] { return library_call(collective, call); })});
    for (const coll::Algorithm* one : coll::algorithms()) {
        if (one->collective != collective || !coll::serves(*one, coll::shape_of(collective, call)) ||
            messages_of(one->name, uint64_t(ranks), bytes) > most_messages)
            continue;
        times.push_back(
            {std::string("own:") + one->name, simulated(call, calls, [&] { return one->run(call); })});
    }
    if (team.rank() == 0)
        print(collective, ranks, bytes, times);
}

/// Asking whether a message has come lets no simulated time pass: what asks, waits.
void wait_in_simulated_time() {
    world::library.Test = [](MPI_Request* request, int* flag, MPI_Status* status) {
        *flag = 1;
        return MPI_Wait(request, status);
    };
    world::library.Testall = [](int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
        *flag = 1;
        return MPI_Waitall(count, requests, statuses);
    };
    world::library.Testany = [](int count, MPI_Request requests[], int* which, int* flag,
                                MPI_Status* status) {
        *flag = 1;
        return MPI_Waitany(count, requests, which, status);
    };
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    common_memory();
    world::bind();
    wait_in_simulated_time();
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_FSIZE, &none);  // no memory shared between ranks that simulate nodes of their own
    coll::Team* team = coll::Team::make(MPI_COMM_WORLD, alone);
    if (!team || argc < 2)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int at = 2; at < argc; ++at) {
        const std::string word = argv[at];
        const size_t colon = word.find(':');
        const Collective collective = collective_of(word.substr(0, colon));
        if (collective == Collective::count || colon == std::string::npos)
            MPI_Abort(MPI_COMM_WORLD, 2);
        simulate(collective, *team, std::strtoull(word.c_str() + colon + 1, nullptr, 10), std::atoi(argv[1]));
    }
    coll::Team::free(team);
    MPI_Finalize();
    return 0;
}
