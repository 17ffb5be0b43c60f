// One compiler at work.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace mpiric::front {

// The words as C wants them, for as long as they live.
std::vector<char*> argv_of(const std::vector<std::string>& words);

class Tool {
  public:
    // Starts it with empty input; `keeps_words`: its output is kept, else it is discarded.
    Tool(const std::vector<std::string>& argv, bool keeps_words);
    ~Tool();
    Tool(Tool&& other) noexcept;
    Tool& operator=(Tool&&) = delete;

    pid_t pid() const { return pid_; }
    void ended(int wait_status);
    bool is_running() const { return pid_ > 0; }
    int status() const { return status_; }  // 128 + n when signal n ended it, -1 when it was not even started

    // Stops it, and waits for that: a compiler takes its temporary files away.
    void stop();

    // Its output: standard output first, then standard error.
    std::string words() const;

  private:
    int out_ = -1, err_ = -1;
    pid_t pid_ = 0;
    int status_ = -1;
};

}  // namespace mpiric::front
