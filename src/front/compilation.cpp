#include "compilation.hpp"

#include "fat_object.hpp"
#include "files.hpp"
#include "slots.hpp"
#include "tool.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mpiric::front {
namespace {

volatile std::sig_atomic_t ended_by = 0;
constexpr std::array ends = {SIGINT, SIGTERM, SIGHUP};

// Signals are let in only where we wait, so that none is missed between looking and waiting.
class Signals {
  public:
    Signals() {
        sigset_t held;
        sigemptyset(&held);
        sigaddset(&held, SIGCHLD);
        struct sigaction action{};
        action.sa_handler = [](int number) {
            if (number != SIGCHLD)
                ended_by = number;
        };
        sigaction(SIGCHLD, &action, nullptr);
        for (const int number : ends) {
            struct sigaction before{};
            sigaction(number, nullptr, &before);
            if (before.sa_handler == SIG_IGN)
                continue;  // under nohup
            sigaction(number, &action, nullptr);
            sigaddset(&held, number);
        }
        sigprocmask(SIG_BLOCK, &held, &before_);
    }
    ~Signals() {
        for (const int number : ends) {
            struct sigaction now{};
            sigaction(number, nullptr, &now);
            if (now.sa_handler != SIG_IGN)
                (void)signal(number, SIG_DFL);
        }
        (void)signal(SIGCHLD, SIG_DFL);
        sigprocmask(SIG_SETMASK, &before_, nullptr);
    }
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    // Until a tool ends, a signal comes, or `file` (-1: none) has something to read.
    void wait(int file) const {
        pollfd reading{file, POLLIN, 0};
        ppoll(&reading, 1, nullptr, &before_);
    }

  private:
    sigset_t before_{};
};

class Compilation {
  public:
    Compilation(const Plan& plan, const Request& request) : plan_{plan}, request_{request} {}

    std::optional<int> run();
    const std::string& words() const { return words_; }

  private:
    std::string for_this_file(const std::string& word) const {
        return filled(word, request_, scratch_.path());
    }
    void start(std::size_t step);
    bool wait_for_one(bool wants_another);
    bool run_steps(std::size_t first, std::size_t end);
    bool take_baseline();
    bool write_fat() const;

    const Plan& plan_;
    const Request& request_;
    Scratch scratch_;
    Signals signals_;
    Slots slots_;
    std::vector<Tool> tools_;
    bool has_failed_ = false;
    std::string output_, baseline_, words_;
};

void Compilation::start(std::size_t step) {
    tools_.emplace_back(all_filled(plan_.steps[step].argv, request_, scratch_.path()), step == 0);
}

// False when something went wrong and the rest need not be done.
bool Compilation::wait_for_one(bool wants_another) {
    for (;;) {
        bool any = false;
        for (auto& tool : tools_) {
            int state = 0;
            if (!tool.is_running() || waitpid(tool.pid(), &state, WNOHANG) != tool.pid())
                continue;
            tool.ended(state);
            any = true;
            if (tool.status() != 0 || (&tool == &tools_.front() && !take_baseline()))
                has_failed_ = true;
        }
        const bool says_why =
            tools_.front().is_running();  // an error in the source is the baseline's to tell
        if (ended_by != 0 || (has_failed_ && !says_why))
            return false;
        if (any && !has_failed_)
            return true;
        const bool for_token = wants_another && !has_failed_ && slots_.token_file() >= 0;
        signals_.wait(for_token ? slots_.token_file() : -1);
        if (for_token)
            return true;
    }
}

bool Compilation::run_steps(std::size_t first, std::size_t end) {
    std::size_t next = first;
    std::size_t running = 0;
    for (;;) {
        while (next < end && (running == 0 || slots_.take())) {
            start(next++);
            if (!tools_.back().is_running())
                return false;
            ++running;
        }
        if (running == 0)
            return true;
        if (!wait_for_one(next < end))
            return false;
        const auto left = static_cast<std::size_t>(std::ranges::count_if(tools_, &Tool::is_running));
        for (; running > left; --running)
            if (running > 1)
                slots_.give();
    }
}

// The baseline's object is removed until it is fat: a build that is killed leaves none.
bool Compilation::take_baseline() {
    words_ = tools_.front().words();
    struct stat state{};
    if (lstat(output_.c_str(), &state) != 0 || !S_ISREG(state.st_mode))
        return false;
    baseline_ = read_file(output_).value_or("");
    if (!can_carry(baseline_))
        return false;
    unlink(output_.c_str());
    return true;
}

bool Compilation::write_fat() const {
    std::vector<Section> sections;
    for (const auto& step : plan_.steps) {
        const bool is_baseline = &step == &plan_.steps.front();
        const auto object =
            is_baseline ? std::optional<std::string>{""} : read_file(for_this_file(step.made));
        if (!object)
            return false;
        sections.push_back({step.section, payload(step.description, *object)});
    }
    return write_file(output_, with_sections(baseline_, sections));
}

std::optional<int> Compilation::run() {
    if (scratch_.path().empty())
        return std::nullopt;
    for (const auto& name : plan_.directories)
        if (!scratch_.make_directory(name))
            return std::nullopt;
    output_ = for_this_file(plan_.steps.front().made);
    tools_.reserve(plan_.steps.size());
    const std::size_t all = plan_.steps.size();
    const bool is_done = plan_.baseline_alone ? run_steps(0, 1) && run_steps(1, all) : run_steps(0, all);
    const auto& first = tools_.front();
    const bool has_failed = !first.is_running() && first.status() > 0;
    for (auto& tool : tools_)
        tool.stop();
    if (is_done && write_fat())
        return 0;
    if (ended_by == 0 && has_failed && !plan_.retry) {
        words_ = first.words();
        return first.status();
    }
    return std::nullopt;
}

}  // namespace

std::optional<int> carry_out(const Plan& plan, const Request& request) {
    std::optional<int> status;
    std::string words;
    {
        Compilation compilation{plan, request};
        status = compilation.run();
        words = compilation.words();
    }
    if (ended_by != 0) {
        (void)raise(ended_by);
        return 128 + ended_by;
    }
    if (status) {
        words.insert(0, plan.sentences);
        for (std::string_view left = words; !left.empty();) {
            const ssize_t put = write(2, left.data(), left.size());
            if (put <= 0)
                break;
            left.remove_prefix(static_cast<std::size_t>(put));
        }
    }
    return status;
}

}  // namespace mpiric::front
