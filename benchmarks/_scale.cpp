// scale COLLECTIVE:BYTES…: the algorithms of src/runtime/coll and the tuner's learning, simulated by
// SimGrid's SMPI.
//
// For each size, every algorithm of ours that serves and what SMPI's selector picks ("library") run once from
// a common start, in simulated time; the slowest rank counts. The learner of src/runtime/tune is then fed
// with those times, spread by a log-normal law as on a real machine, until it settles. Rank 0 prints a JSON
// line for each size. The ranks of a node do not share memory here, so the forms that need that do not serve.
#include "coll/algorithm.hpp"
#include "coll/shape.hpp"
#include "coll/team.hpp"
#include "tune/learner.hpp"
#include "world/library.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace {

using namespace mpiric;

constexpr double spread = 0.08;          // of a logarithm: a quiet cluster
constexpr uint64_t most_calls = 20'000;  // of a key, until it should have settled
constexpr uint64_t most_messages = 3'000'000;

struct Timed {
    std::string name;
    double seconds;
};

/// Messages that all ranks together send: what has p² of them is left out where that takes too long.
uint64_t messages_of(std::string_view name, uint64_t ranks) {
    for (const char* one : {"ring", "pairwise", "linear", "neighbour_exchange", "chain"})
        if (name.find(one) != std::string_view::npos)
            return ranks * ranks;
    return ranks * 16;
}

struct Buffers {
    std::vector<char> send, receive;
};

coll::Call arguments(coll::Team& team, Collective collective, uint64_t bytes, Buffers& buffers) {
    coll::Call call{team};
    call.send = buffers.send.data(), call.receive = buffers.receive.data();
    call.send_type = call.receive_type = reduces(collective) ? MPI_FLOAT : MPI_BYTE;
    call.send_count = call.receive_count = MPI_Count(reduces(collective) ? bytes / sizeof(float) : bytes);
    call.op = MPI_SUM;
    return call;
}

int library_call(Collective collective, const coll::Call& call, MPI_Comm comm) {
    const int count = int(call.receive_count);
    void* send = const_cast<void*>(call.send);
    switch (collective) {
    case Collective::allreduce:
        return MPI_Allreduce(send, call.receive, count, MPI_FLOAT, MPI_SUM, comm);
    case Collective::bcast:
        return MPI_Bcast(call.receive, count, MPI_BYTE, 0, comm);
    case Collective::reduce:
        return MPI_Reduce(send, call.receive, count, MPI_FLOAT, MPI_SUM, 0, comm);
    case Collective::allgather:
        return MPI_Allgather(send, count, MPI_BYTE, call.receive, count, MPI_BYTE, comm);
    case Collective::alltoall:
        return MPI_Alltoall(send, count, MPI_BYTE, call.receive, count, MPI_BYTE, comm);
    case Collective::barrier:
        return MPI_Barrier(comm);
    default:
        return MPI_ERR_ARG;
    }
}

/// Of the slowest rank, from a common start.
template <class Run> double simulated(MPI_Comm comm, Run&& run) {
    MPI_Barrier(comm);
    double begin = MPI_Wtime(), common = 0, slowest = 0;
    MPI_Allreduce(&begin, &common, 1, MPI_DOUBLE, MPI_MAX, comm);
    const double start = MPI_Wtime();
    if (run() != MPI_SUCCESS)
        MPI_Abort(comm, 1);
    double took = MPI_Wtime() - start;
    MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, comm);
    return slowest;
}

/// Which candidate the learner settles on, and what that costs.
struct Learnt {
    size_t choice = 0;
    uint64_t calls = 0, learning_calls = 0;
    double lost = 0;  ///< seconds more than the best candidate would have taken until then
};

Learnt learn(const std::vector<Timed>& times, double best, unsigned seed) {
    const std::vector<int32_t> parents(times.size(), tune::Race::no_parent);
    tune::Learner learner(parents, 0);
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(0, spread);
    Learnt learnt;
    double inside = 0;
    while (!learner.settled() && learnt.calls < most_calls) {
        const tune::Step step = learner.next();
        const double took = times[step.candidate].seconds * std::exp(std::abs(noise(random)));
        ++learnt.calls;
        learnt.lost += times[step.candidate].seconds - best;
        inside += step.measured ? took : 0;
        if (!step.ends_block)
            continue;
        learner.took({uint64_t(inside * 1e9), 0, 0});
        inside = 0;
    }
    learnt.choice = learner.race().choice();
    learnt.learning_calls = learner.learning_calls();
    return learnt;
}

void print(Collective collective, int ranks, uint64_t bytes, const std::vector<Timed>& times) {
    size_t best = 0;
    for (size_t at = 0; at < times.size(); ++at)
        if (times[at].seconds < times[best].seconds)
            best = at;
    const Learnt learnt = learn(times, times[best].seconds, unsigned(bytes));
    std::printf(
        "{\"collective\": \"%s\", \"ranks\": %d, \"bytes\": %llu, \"best\": \"%s\", \"best_s\": %.9g, "
        "\"chosen\": \"%s\", \"chosen_s\": %.9g, \"calls\": %llu, \"learning_calls\": %llu, "
        "\"lost_s\": %.9g, \"times\": {",
        name_of(collective).data(), ranks, static_cast<unsigned long long>(bytes), times[best].name.c_str(),
        times[best].seconds, times[learnt.choice].name.c_str(), times[learnt.choice].seconds,
        static_cast<unsigned long long>(learnt.calls), static_cast<unsigned long long>(learnt.learning_calls),
        learnt.lost);
    for (size_t at = 0; at < times.size(); ++at)
        std::printf("%s\"%s\": %.9g", at ? ", " : "", times[at].name.c_str(), times[at].seconds);
    std::printf("}}\n");
    std::fflush(stdout);
}

int alone(MPI_Comm comm, int rank, MPI_Comm* node) { return MPI_Comm_split(comm, rank, 0, node); }

void simulate(Collective collective, coll::Team& team, uint64_t bytes) {
    const int ranks = team.size();
    const bool blocks = collective == Collective::allgather || collective == Collective::alltoall;
    const size_t room = size_t(bytes) * (blocks ? size_t(ranks) : 1) + 64;
    Buffers buffers{std::vector<char>(collective == Collective::allgather ? bytes + 64 : room),
                    std::vector<char>(room)};
    const coll::Call call = arguments(team, collective, bytes, buffers);
    std::vector<Timed> times;
    times.push_back(
        {"library", simulated(team.comm(), [&] { return library_call(collective, call, team.comm()); })});
    for (const coll::Algorithm* one : coll::algorithms()) {
        if (one->collective != collective || !coll::serves(*one, coll::shape_of(collective, call)) ||
            messages_of(one->name, uint64_t(ranks)) > most_messages)
            continue;
        times.push_back(
            {std::string("own:") + one->name, simulated(team.comm(), [&] { return one->run(call); })});
    }
    if (team.rank() == 0)
        print(collective, ranks, bytes, times);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    world::bind();
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_FSIZE, &none);  // no memory shared between ranks that simulate nodes of their own
    coll::Team* team = coll::Team::make(MPI_COMM_WORLD, alone);
    if (!team)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int at = 1; at < argc; ++at) {
        std::string word = argv[at];
        const size_t colon = word.find(':');
        const Collective collective = collective_of(word.substr(0, colon));
        if (collective == Collective::count || colon == std::string::npos)
            MPI_Abort(MPI_COMM_WORLD, 2);
        simulate(collective, *team, std::strtoull(word.c_str() + colon + 1, nullptr, 10));
    }
    coll::Team::free(team);
    MPI_Finalize();
    return 0;
}
