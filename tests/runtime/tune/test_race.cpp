// The race and the learner with times from a model: they find what is faster, and prefer the library
// otherwise.
#include "tune/learner.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <random>
#include <utility>

using namespace mpiric::tune;

namespace {

/// Times of candidates: a centre each, noise of a log-normal law, now and then a call that the scheduler
/// hits.
struct Machine {
    std::vector<double> centres;
    double spread = 0.05;
    double hit_once_in = 20;
    std::mt19937 random{1};

    double time(uint32_t candidate) {
        std::lognormal_distribution<double> noise(0, spread);
        std::uniform_real_distribution<double> even(0, hit_once_in);
        return centres[candidate] * noise(random) + (even(random) < 1 ? 4e-3 : 0);
    }
};

uint32_t run(Race& race, Machine& machine, int most = 100'000) {
    for (int turn = 0; turn < most && !race.decided(); ++turn)
        race.add_time(machine.time(race.next()));
    CHECK(race.decided());
    return race.choice();
}

constexpr int32_t none = Race::no_parent;

TEST_CASE("clear winner is chosen") {
    for (uint32_t seed = 1; seed <= 50; ++seed) {
        Race race(std::vector<int32_t>{none, none, none, none});
        Machine machine{{1e-3, 2e-3, 0.6e-3, 0.9e-3}};
        machine.random.seed(seed);
        CHECK(run(race, machine) == 2);
        CHECK(race.confidence() > 0.95);
    }
}

TEST_CASE("equals leave the library nearly always") {
    int others = 0;
    for (uint32_t seed = 1; seed <= 200; ++seed) {
        Race race(std::vector<int32_t>(12, none));
        Machine machine{std::vector<double>(12, 1e-3)};
        machine.random.seed(seed);
        others += run(race, machine) != 0;
    }
    CHECK(others <= 4);
}

TEST_CASE("a slower candidate is not chosen") {
    int chosen = 0;
    for (uint32_t seed = 1; seed <= 100; ++seed) {
        Race race(std::vector<int32_t>(8, none));
        Machine machine{{1e-3, 1.1e-3, 1.1e-3, 1.2e-3, 1.3e-3, 1.1e-3, 5e-3, 1.05e-3}};
        machine.spread = 0.1;
        machine.random.seed(seed);
        chosen += run(race, machine) != 0;
    }
    CHECK(chosen == 0);
}

TEST_CASE("variants run only after their parent has won") {
    Race race(std::vector<int32_t>{none, none, 1, 1, none, 4});
    Machine machine{{1e-3, 0.7e-3, 0.4e-3, 0.8e-3, 2e-3, 0.1e-3}};
    CHECK(run(race, machine) == 2);
    CHECK(race.timings(5).times.empty());
}

TEST_CASE("the hopeless get three calls") {
    Race race(std::vector<int32_t>{none, none});
    int timed = 0;
    for (int turn = 0; turn < 1000 && !race.decided(); ++turn) {
        timed += race.next() == 1;
        race.add_time(race.next() == 1 ? 1.0 : 1e-5);
    }
    CHECK(race.decided());
    CHECK(race.choice() == 0);
    CHECK(timed == 3);
}

TEST_CASE("the next best gets its chance") {
    int found = 0, left = 0;
    for (uint32_t seed = 1; seed <= 20; ++seed) {
        Race race(std::vector<int32_t>{none, none, none});
        Machine machine{{1e-3, 0.74e-3, 0.8e-3}, 0.2, 1e9};
        machine.random.seed(seed);
        int without_two = 0;
        for (int turn = 0; turn < 10'000 && !race.decided(); ++turn) {
            // Fastest while the third candidate runs too, but slower than the library's own in the duel.
            without_two = race.next() == 2 ? 0 : without_two + 1;
            machine.centres[1] = without_two > 4 ? 1.2e-3 : 0.74e-3;
            race.add_time(machine.time(race.next()));
        }
        CHECK(race.decided());
        CHECK(race.choice() != 1);
        found += race.choice() == 2;
        left += !race.timings(2).eliminated;
    }
    CHECK(found >= left - 1);
    CHECK(left >= 10);
}

TEST_CASE("warmup ratios come from the first rounds") {
    Race race(std::vector<int32_t>{none, none});
    CHECK(race.warmup_ratio(1) == 0);
    for (int turn = 0; turn < 6; ++turn)
        race.add_time(race.next() == 1 ? 5e-3 : 1e-3);
    CHECK(std::abs(race.warmup_ratio(1) - 4.98) < 1e-9);
}

TEST_CASE("short calls are timed several in a row") {
    Race race(std::vector<int32_t>{none, none});
    while (race.calls() == 1 && !race.decided())
        race.add_time(1e-6);
    CHECK(race.calls() == 16);
}

/// Plays a program that does nothing but call; returns the seconds lost against the library.
double play(Learner& learner, Machine& machine, int calls, double& all) {
    double lost = 0, block = 0;
    for (int call = 0; call < calls; ++call) {
        const Step step = learner.next();
        const double seconds = machine.time(step.candidate);
        all += seconds;
        lost += std::max(0.0, machine.centres[step.candidate] - machine.centres[0]);
        if (step.measured)
            block += seconds;
        if (step.ends_block) {
            learner.end_block({uint64_t(block * 1e9), 0, 0});
            block = 0;
        }
    }
    return lost;
}

TEST_CASE("learning loses no more than it may") {
    const std::vector<int32_t> parents(6, none);
    const auto machine = [] { return Machine{{1e-4, 2.5e-4, 2.5e-4, 2e-4, 2e-4, 2e-4}, 0.02, 1e9}; };
    double all = 0;
    Learner bound(parents, 0.01);
    Machine first = machine();
    const double lost = play(bound, first, 100'000, all);
    CHECK(lost < 0.012 * all);
    Learner free(parents, 0);
    Machine second = machine();
    play(free, second, 3'000, all = 0);
    CHECK(free.decided());
    CHECK(free.learning_calls() < 3'000);
}

TEST_CASE("a choice stays only where it is faster") {
    uint32_t kept = 0, kept_though_slower = 0;
    constexpr uint32_t seeds = 12;
    for (uint32_t seed = 1; seed <= seeds; ++seed) {
        Learner first(std::vector<int32_t>(3, none), 0.01);
        Machine machine{{1e-4, 2e-4, 0.8e-4}, 0.1, 1e9};
        machine.random.seed(seed);
        double all = 0;
        play(first, machine, 100'000, all);
        CHECK(first.decided());
        CHECK(first.race().choice() == 2);
        for (const double now : {0.8e-4, 1.05e-4}) {
            Learner again(first, 100'000);
            Machine later{{1e-4, now}, 0.1, 1e9};
            later.random.seed(seed);
            play(again, later, 20'000, all);
            CHECK(again.decided());
            (now < 1e-4 ? kept : kept_though_slower) += again.race().choice() == 1;
        }
    }
    CHECK(kept == seeds);
    CHECK(kept_though_slower == 0);
}

TEST_CASE("a policy's choice stays only if it is faster") {
    for (uint32_t seed = 1; seed <= 12; ++seed)
        for (const double now : {0.6e-4, 1.05e-4, 5e-4}) {
            Learner learner(64, 0.01);
            Machine machine{{1e-4, now}, 0.1, 1e9};
            machine.random.seed(seed);
            double all = 0;
            play(learner, machine, 50'000, all);
            CHECK(learner.decided());
            CHECK((learner.race().choice() == (now < 1e-4 ? 1u : 0u)));
        }
}

TEST_CASE("proving what a policy chose loses no more than it may") {
    for (const double call : {2e-6, 1e-4, 5e-3}) {
        Learner learner(64, 0.01);
        Machine machine{{1.6 * call, call}, 0.02, 1e9};
        double all = 64 * call, best = all, block = 0, most = 1;
        for (int turn = 0; turn < 30'000; ++turn) {
            const Step step = learner.next();
            const double seconds = machine.time(step.candidate);
            all += seconds;
            best += call;
            most = std::max(most, all / best);
            block += step.measured ? seconds : 0;
            if (step.ends_block)
                learner.end_block({uint64_t(std::exchange(block, 0) * 1e9), 0, 0});
        }
        CHECK(most < 1.015);
        CHECK(learner.decided());
        CHECK(learner.race().choice() == 1);
    }
}

TEST_CASE("the last rounds time no call that follows another candidates") {
    const std::vector<int32_t> parents{none, none};
    Learner first(parents, 0);
    Machine machine{{1e-4, 0.5e-4}};
    double all = 0;
    play(first, machine, 5'000, all);
    Learner again(first, 5'000);
    uint32_t last = 2;
    for (int call = 0; call < 200; ++call) {
        const Step step = again.next();
        CHECK((!step.measured || step.candidate == last));
        last = step.candidate;
        if (step.ends_block)
            again.end_block({100'000, 0, 0});
    }
}

TEST_CASE("calls with work between them begin with a rendezvous") {
    const std::vector<int32_t> parents(2, none);
    Learner learner(parents, 0);
    bool rendezvous = false;
    for (int call = 0; call < 100 && !rendezvous; ++call) {
        const Step step = learner.next();
        rendezvous = step.rendezvous;
        if (step.ends_block)
            learner.end_block({1000, 100'000, 0});
    }
    CHECK(rendezvous);
}

TEST_CASE("ranks stay in step") {
    const std::vector<int32_t> parents{none, none, 1, none};
    Learner left(parents, 0.05), right(parents, 0.05);
    Machine machine{{1e-4, 0.9e-4, 0.8e-4, 1.2e-4}};
    for (int call = 0; call < 20'000; ++call) {
        const Step step = left.next(), other = right.next();
        CHECK(step.candidate == other.candidate);
        CHECK(step.ends_block == other.ends_block);
        CHECK(step.rendezvous == other.rendezvous);
        if (!step.ends_block)
            continue;
        const Agreed agreed{uint64_t(machine.time(step.candidate) * 1e9), 0, 500};
        left.end_block(agreed);
        right.end_block(agreed);
    }
}

TEST_CASE("a pause may be taken at once") {
    const std::vector<int32_t> parents{none, none, 1, none};
    Learner stepped(parents, 0.05), pausing(parents, 0.05);
    Machine machine{{1e-4, 0.9e-4, 0.7e-4, 1.2e-4}};
    uint64_t paused = 0, most = 0;
    for (int call = 0; call < 20'000; ++call) {
        const Step step = stepped.next();
        if (paused == 0)
            most = std::max(most, paused = pausing.take_pause());
        if (paused > 0) {
            CHECK(step.candidate == 0);
            CHECK(!step.measured);
            --paused;
            continue;
        }
        const Step other = pausing.next();
        CHECK(step.candidate == other.candidate);
        CHECK(step.measured == other.measured);
        if (!step.ends_block)
            continue;
        const Agreed agreed{uint64_t(machine.time(step.candidate) * 1e9), 0, 500};
        stepped.end_block(agreed);
        pausing.end_block(agreed);
    }
    CHECK(most > 100);
    CHECK(stepped.calls() == pausing.calls());
    CHECK(stepped.decided());
    CHECK(pausing.decided());
}

}  // namespace
