// scale CALLS COLLECTIVE:BYTES…: the algorithms of src/runtime/coll and the tuner's learning, simulated by
// SimGrid's SMPI.
//
// For each size, all applicable algorithms of mpiric and the choice of MPICH ("library") run CALLS times in a
// row from a common start, in simulated time, with changing roots; the slowest rank counts. The learner of
// src/runtime/tune then gets these times, with disturbances as on a real machine, until it decides. Rank 0
// prints a JSON line for each size. The ranks of a node do not share memory here, so algorithms that need it
// do not apply.
//
// All ranks are in one process and their data are not used: they share buffers and scratch memory, messages
// are not copied, and a reduction only takes time.
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

// Noise that is added to simulated times. Detours are interruptions of a rank by the system: with more ranks,
// more of them fall into one call (Hoefler, Schneider, Lumsdaine, "Characterizing the influence of system
// noise on large-scale applications by simulation", SC 2010).
constexpr double spread = 0.05;         // standard deviation of the logarithm
constexpr double detours_a_second = 5;  // detours per rank
constexpr double detour_seconds = 30e-6;

constexpr double start_seconds = 1;      // simulated time until all ranks have reached the start
constexpr uint64_t most_calls = 20'000;  // limit of calls of a key until the learner decides
constexpr uint64_t most_messages = 300'000;
constexpr int least_charged_bytes = 4096;

struct Timed {
    std::string name;
    double seconds;
};

/// Approximate number of messages of all ranks together; calls with too many are left out.
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

/// The choice of MPICH for a power of two of ranks, by its thresholds MPIR_CVAR_<COLLECTIVE>_SHORT_MSG_SIZE
/// and _LONG_MSG_SIZE. SMPI's own selector sends three rings through all ranks before its first choice, and
/// has other algorithms. The operation is one of MPI, which takes no time here; MPICH has other algorithms for
/// operations of users.
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
    uint64_t bits = std::bit_cast<uint64_t>(seconds);  // same order as non-negative numbers
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

/// The candidate that the learner chooses, and the cost of learning.
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

/// MPI_Test takes no simulated time, so a rank that tests would never end: it waits instead.
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
