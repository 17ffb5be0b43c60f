// How many tools may run at once: a number, the idle CPUs, or the free part of a parallel make's -j.
#pragma once

#include <vector>

namespace mpiric::front {

class Slots {
  public:
    // MPIRIC_JOBS, else the job server in MAKEFLAGS, else the CPUs this process may use and nobody does:
    // Ninja starts as many of us as there are CPUs and has no job server.
    Slots();
    ~Slots();
    Slots(const Slots&) = delete;
    Slots& operator=(const Slots&) = delete;

    // Takes a slot besides the first one, which everybody has; false when none is free now.
    bool take();
    void give();

    // Readable when another place may be had, -1 when that never happens by itself.
    int token_file() const { return reading_; }

  private:
    bool connect(const char* makeflags);

    unsigned free_ = 0;       // without a job server
    bool only_idle_ = false;  // only as many as there are idle CPUs
    int reading_ = -1;
    int writing_ = -1;
    std::vector<char> tokens_;  // go back as they came
};

}  // namespace mpiric::front
