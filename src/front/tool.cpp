#include "tool.hpp"

#include "files.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace mpiric::front {

std::vector<char*> argv_of(const std::vector<std::string>& words) {
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (const auto& word : words)
        argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    return argv;
}

Tool::Tool(const std::vector<std::string>& argv, bool keeps_words) {
    const std::vector<char*> words = argv_of(argv);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (keeps_words) {
        out_ = memfd_create("words", MFD_CLOEXEC);
        err_ = memfd_create("words", MFD_CLOEXEC);
    }
    for (const auto& [stream, file] : {std::pair{1, out_}, std::pair{2, err_}}) {
        if (file >= 0)
            posix_spawn_file_actions_adddup2(&actions, file, stream);
        else
            posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
    }
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    if (posix_spawnp(&pid_, words[0], &actions, &attributes, words.data(), environ) != 0)
        pid_ = 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
}

Tool::Tool(Tool&& other) noexcept
    : out_{std::exchange(other.out_, -1)}, err_{std::exchange(other.err_, -1)},
      pid_{std::exchange(other.pid_, 0)}, status_{other.status_} {}

Tool::~Tool() {
    stop();
    if (out_ >= 0)
        close(out_);
    if (err_ >= 0)
        close(err_);
}

void Tool::ended(int wait_status) {
    pid_ = 0;
    status_ = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

void Tool::stop() {
    if (!is_running())
        return;
    kill(pid_, SIGTERM);
    int state = 0;
    while (waitpid(pid_, &state, 0) < 0 && errno == EINTR) {
    }
    ended(state);
}

std::string Tool::words() const {
    std::string said;
    for (const int file : {out_, err_})
        if (file >= 0)
            said += read_descriptor(file).value_or("");
    return said;
}

}  // namespace mpiric::front
