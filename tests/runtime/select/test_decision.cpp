// The decision which candidate serves a call: calls of a program with times from a model.
#include "select/decision/decision.hpp"
#include "select/decision/learned_keys.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <set>
#include <string>
#include <vector>

using namespace mpiric;
using namespace mpiric::select;

namespace {

constexpr auto allreduce = Collective::allreduce, bcast = Collective::bcast, ibcast = Collective::ibcast;

/// The library's default and two algorithms of ours for each collective, `own:fast` and `own:slow`.
Basis basis_of(Collectives mode, const std::string& policy = "") {
    Basis basis;
    basis.rules.mode = mode;
    basis.catalogue = tune::Catalogue(tune::Library{});
    for (uint32_t at = 0; at < collective_count; ++at)
        for (const char* name : {"fast", "slow"})
            basis.catalogue.add_own(Collective(at), name);
    basis.usable.assign(basis.catalogue.size(), true);
    basis.fixed_order.assign(basis.catalogue.size(), false);
    uint32_t bad_line = 0;
    if (!policy.empty())
        basis.policy = tune::read_policy("mpiric-policy 1\nmpi mpich 5.0.2\n" + policy, bad_line);
    return basis;
}

/// A program on a communicator of eight ranks.
struct Program {
    Basis basis;
    tune::Shape shape{8, 4, 2, tune::Distribution::block, 1};
    uint64_t library_ns = 100'000, fast_ns = 50'000, slow_ns = 150'000;
    bool composed = false, commutes = true;
    BlockingTable blocking{};
    StartedTable started{};
    uint64_t now_ns = 1, fast_path_calls = 0;

    Entry& entry(Collective collective, uint64_t bytes) {
        const uint32_t size_class = tune::class_of(bytes);
        return form_of(collective) == Form::blocking ? blocking.entry(collective, size_class)
                                                     : started.entry(collective, size_class);
    }

    /// Makes a call; names the candidate that serves it.
    std::string call(Collective collective, uint64_t bytes) {
        Entry& found = entry(collective, bytes);
        ++found.calls;
        if (found.choice == Choice::library) {
            ++fast_path_calls;
            return "library";
        }
        Learned& learned = form_of(collective) == Form::blocking ? static_cast<Learned&>(blocking) : started;
        ++learned.calls;
        const auto [choice, exploration] =
            decide(basis, shape, learned, found, {collective, bytes, commutes});
        if (choice != Choice::explore)
            return choice == Choice::library ? "library" : basis.catalogue[uint32_t(choice)].name;
        if (!exploration->learner)
            begin_learning(basis, learned.explorations, found, *exploration, collective, bytes,
                           basis.catalogue.of(collective));
        return explore(found, *exploration, bytes);
    }

    std::string explore(Entry& found, Exploration& exploration, uint64_t bytes) {
        const tune::Step step = exploration.learner->next();
        const uint32_t candidate = exploration.candidates[step.candidate];
        const std::string name = basis.catalogue[candidate].name;
        const uint64_t begin_ns = now_ns;
        now_ns += name == "own:fast" ? fast_ns : name == "own:slow" ? slow_ns : library_ns;
        if (!step.measured)
            return name;
        note_measured(exploration, bytes, composed);
        add_call(exploration, candidate, begin_ns, now_ns);
        if (step.ends_block)
            end_block(found, exploration, sums_of(exploration));
        return name;
    }

    /// Makes calls; names the candidate that serves the last.
    std::string calls(int count, Collective collective, uint64_t bytes) {
        std::string name;
        for (int at = 0; at < count; ++at)
            name = call(collective, bytes);
        return name;
    }

    /// Makes `count` calls; names the candidates that serve them.
    std::set<std::string> seen(int count, Collective collective, uint64_t bytes) {
        std::set<std::string> names;
        for (int at = 0; at < count; ++at)
            names.insert(call(collective, bytes));
        return names;
    }
};

const std::set<std::string> only_library{"library"};

/// An exploration of the whole class of 1 KiB whose learner has just begun.
Exploration begun(const Basis& basis, Entry& entry, Collective collective = ibcast) {
    Exploration exploration;
    exploration.ranges = {{1024, 2048, Choice::explore}};
    begin_learning(basis, {}, entry, exploration, collective, 1024, basis.catalogue.of(collective));
    return exploration;
}

size_t count_of(const std::string& text, const std::string& part) {
    size_t count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

}  // namespace

TEST_CASE("short lived communicators are left to the library") {
    Program program{basis_of(Collectives::online)};
    CHECK(program.seen(warmup_calls, allreduce, 1024) == only_library);
    CHECK(program.blocking.explorations.begin()->second.learner == nullptr);
    CHECK(program.seen(200, allreduce, 1024).contains("own:fast"));
}

TEST_CASE("the faster candidate is chosen for the sizes it was learned with") {
    Program program{basis_of(Collectives::online)};
    CHECK(program.calls(2000, allreduce, 1024) == "own:fast");
    const Entry& entry = program.entry(allreduce, 1024);
    CHECK(entry.choice_at(1024) == entry.choice_at(1279));
    CHECK(entry.choice_at(1024) >= 0);
    CHECK(entry.choice_at(1300) == Choice::look_up);
    CHECK(program.calls(2000, allreduce, 1300) == "own:fast");
}

TEST_CASE("a choice that is no longer faster gives way") {
    Program program{basis_of(Collectives::online)};
    CHECK(program.calls(2000, allreduce, 1024) == "own:fast");
    program.fast_ns = 130'000;
    CHECK(program.calls(100'000, allreduce, 1024) == "library");
    Program trusting{basis_of(Collectives::online)};
    trusting.basis.rules.reprove = false;
    trusting.calls(2000, allreduce, 1024);
    trusting.fast_ns = 130'000;
    CHECK(trusting.calls(100'000, allreduce, 1024) == "own:fast");
}

TEST_CASE("where nothing is faster calls take the fast path") {
    Program program{basis_of(Collectives::online)};
    program.fast_ns = 120'000;
    program.calls(2000, allreduce, 1024);
    CHECK(program.entry(allreduce, 1024).choice == Choice::library);
    CHECK(program.fast_path_calls > 1000);
}

TEST_CASE("exploration is bounded by pauses on the fast path") {
    Program program{basis_of(Collectives::online)};
    program.basis.rules.learn_at_most = 0.01;
    program.slow_ns = 250'000;
    int paused = 0;
    for (int at = 0; at < 1000; ++at) {
        program.call(allreduce, 1024);
        paused += program.entry(allreduce, 1024).choice == Choice::library_for_now;
    }
    CHECK(paused > 800);
    CHECK(program.calls(100'000, allreduce, 1024) == "own:fast");
}

TEST_CASE("a neighbouring size class excludes what is hopeless") {
    Program program{basis_of(Collectives::online)};
    program.slow_ns = 1'000'000;
    CHECK(program.seen(2000, allreduce, 1024).contains("own:slow"));
    CHECK(!program.seen(2000, allreduce, 2048).contains("own:slow"));
    CHECK(program.seen(2000, bcast, 2048).contains("own:slow"));
}

TEST_CASE("rules restrict what is learned") {
    Program few{basis_of(Collectives::online)};
    few.basis.rules.learn_ranks = 9;
    CHECK(few.seen(200, allreduce, 1024) == only_library);
    Program named{basis_of(Collectives::online)};
    Options options;
    options.learn_only = "bcast, allreduce";
    named.basis.rules.learn_only = rules_of(options, false).learn_only;
    CHECK(named.seen(200, bcast, 1024).size() > 1);
    CHECK(named.seen(200, Collective::reduce, 8) == only_library);
    Program same_results{basis_of(Collectives::online)};
    same_results.basis.rules.reproducible = true;
    CHECK(same_results.seen(200, allreduce, 1024) == only_library);
    CHECK(same_results.seen(200, bcast, 1024).size() > 1);
}

TEST_CASE("datatypes that ranks may describe differently are left to the library") {
    Program program{basis_of(Collectives::online)};
    program.composed = true;
    program.calls(100, bcast, 1024);
    CHECK(program.entry(bcast, 1024).choice == Choice::library);
}

TEST_CASE("operations that do not commute are left to the library") {
    Program program{basis_of(Collectives::online)};
    program.commutes = false;
    CHECK(program.seen(200, allreduce, 1024) == only_library);
    program.commutes = true;
    CHECK(program.seen(200, allreduce, 1024).contains("own:fast"));
}

TEST_CASE("a policy is obeyed and the rest is the library's") {
    Program program{basis_of(Collectives::policy, "choose allreduce * * * * * 1500 * own:slow\n")};
    program.slow_ns = 50'000;
    CHECK(program.calls(1000, allreduce, 1024) == "library");
    CHECK(program.calls(1000, allreduce, 1600) == "own:slow");
    CHECK(program.calls(1000, allreduce, 4096) == "own:slow");
    CHECK(program.seen(100, bcast, 4096) == only_library);
    Program unknown{basis_of(Collectives::policy, "choose allreduce * * * * * 0 * own:lost\n")};
    CHECK(unknown.seen(100, allreduce, 1024) == only_library);
}

TEST_CASE("a policy's choice proves itself once it serves many calls") {
    const std::string policy = "choose allreduce * * * * * 0 * own:slow\n";
    Program program{basis_of(Collectives::policy, policy)};
    CHECK(program.calls(warmup_calls, allreduce, 1024) == "library");
    CHECK(program.seen(50, allreduce, 1024) == std::set<std::string>{"own:slow"});
    CHECK(program.calls(10'000, allreduce, 1024) == "library");
    Program trusting{basis_of(Collectives::policy, policy)};
    trusting.basis.rules.reprove = false;
    CHECK(trusting.calls(10'000, allreduce, 1024) == "own:slow");
}

TEST_CASE("reproducible reductions are chosen by a policy from the first call on") {
    const std::string policy = "choose allreduce * * * * * 0 * own:slow\n";
    Program program{basis_of(Collectives::policy, policy)};
    program.basis.rules.reproducible = true;
    CHECK(program.seen(1000, allreduce, 1024) == only_library);
    Program fixed{basis_of(Collectives::policy, policy)};
    fixed.basis.rules.reproducible = true;
    fixed.basis.fixed_order.assign(fixed.basis.catalogue.size(), true);
    CHECK(fixed.seen(1000, allreduce, 1024) == std::set<std::string>{"own:slow"});
}

TEST_CASE("forms that do not block obey a policy from the first call on") {
    Program program{basis_of(Collectives::policy, "choose ibcast * * * * * 0 * own:slow\n")};
    CHECK(program.seen(10'000, ibcast, 1024) == std::set<std::string>{"own:slow"});
}

TEST_CASE("in rotate mode every candidate serves some calls") {
    Program program{basis_of(Collectives::rotate)}, same{basis_of(Collectives::rotate)};
    CHECK(program.seen(50, allreduce, 1024).size() == 3);
    same.seen(50, allreduce, 1024);
    for (int at = 0; at < 50; ++at)
        CHECK(program.call(allreduce, 8) == same.call(allreduce, 8));
}

TEST_CASE("a block sums times inside and between its calls") {
    Entry entry;
    Exploration exploration = begun(basis_of(Collectives::online), entry);
    add_call(exploration, exploration.candidates[0], 1000, 1500);
    add_call(exploration, exploration.candidates[0], 1700, 1800);
    CHECK(exploration.block.inside_ns == 600);
    CHECK(exploration.block.between_ns == 200);
    add_call(exploration, exploration.candidates[1], 1800, 1900);
    CHECK(exploration.block.inside_ns > 700);  // other candidates bear the cost of their dispatch
    end_block(entry, exploration, sums_of(exploration));
    CHECK(exploration.block.inside_ns == 0);
    CHECK(exploration.block.last_end_ns == 0);
}

TEST_CASE("a block of started calls ends when no rank has calls under way") {
    Entry entry;
    Exploration exploration = begun(basis_of(Collectives::online), entry);
    exploration.block.full = true;
    BlockSums largest = sums_of(exploration);
    exploration.block.under_way = 1;
    const BlockSums of_other_rank = sums_of(exploration);
    exploration.block.under_way = 0;
    for (size_t at = 0; at < largest.size(); ++at)
        largest[at] = std::max(largest[at], of_other_rank[at]);
    CHECK(!end_started_block(entry, exploration, largest));
    CHECK(exploration.block.full);
    CHECK(end_started_block(entry, exploration, sums_of(exploration)));
    CHECK(!exploration.block.full);
    CHECK(exploration.ranges[0].choice == Choice::explore);
}

TEST_CASE("calls that never complete leave the collective to the library") {
    Entry entry;
    Exploration exploration = begun(basis_of(Collectives::online), entry);
    exploration.block.under_way = 1;
    int agreements = 1;
    while (!end_started_block(entry, exploration, sums_of(exploration)))
        ++agreements;
    CHECK(agreements == 32);
    CHECK(entry.choice == Choice::library);
}

TEST_CASE("learned choices are written with their evidence") {
    Program program{basis_of(Collectives::online)};
    const auto keys = [&] { return learned_keys(program.shape, program.blocking, program.basis.catalogue); };
    CHECK(keys().empty());
    program.calls(2000, allreduce, 1024);
    const std::string text = keys();
    CHECK(count_of(text, "\"collective\": \"allreduce\"") == 1);
    CHECK(text.find("\"from\": 1024, \"to\": 2048, \"candidate\": \"own:fast\"") != std::string::npos);
    CHECK(count_of(text, "\"median_s\"") == 3);
    CHECK(text.find("\"calls\": 2000") != std::string::npos);
}
