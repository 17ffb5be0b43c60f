// How many tools may run at once: a number, the CPUs that are idle, or what a parallel make has left of its
// -j.
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

    // A place beside the first, which everybody has; false when there is none now.
    bool take();
    void give();

    // Readable when another place may be had, -1 when that never happens by itself.
    int token_file() const { return reading_; }

  private:
    bool connect(const char* makeflags);

    unsigned free_ = 0;       // without a job server
    bool only_idle_ = false;  // of these, what is idle
    int reading_ = -1;
    int writing_ = -1;
    std::vector<char> tokens_;  // go back as they came
};

}  // namespace mpiric::front
