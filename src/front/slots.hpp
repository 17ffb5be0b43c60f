// How many tools may run at once: a number, or the tokens of a make that shares its -j with what it starts.
#pragma once

#include <vector>

namespace mpiric::front {

class Slots {
  public:
    // MPIRIC_JOBS, else the job server in MAKEFLAGS, else the CPUs this process may use.
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

    unsigned free_ = 0;  // without a job server
    int reading_ = -1;
    int writing_ = -1;
    std::vector<char> tokens_;  // go back as they came
};

}  // namespace mpiric::front
