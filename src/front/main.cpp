// The commands `mpiric`, `mpiric-cc`, `mpiric-cxx` and `mpiric-fc` in bin.
//
// A build calls a compiler for every file, and Python takes as long to start as a small file to compile. So a
// compilation that Python has planned once (src/mpiric/build/plan.py) is repeated from here for every other
// file. Everything else is left to Python, by the command `mpiric-python` in the same directory.

#include "compilation.hpp"
#include "files.hpp"
#include "plan.hpp"
#include "request.hpp"
#include "tool.hpp"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

namespace mpiric::front {
namespace {

constexpr std::size_t longest_key = 100'000;  // one setting of the environment holds 128 KiB
constexpr int cannot_start = 127;

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

std::string target_of(const char* link) {
    std::string target(PATH_MAX, '\0');
    const ssize_t length = readlink(link, target.data(), target.size());
    target.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return target;
}

// Reason why an existing file was not started, with a hint.
std::string refusal(int error) {
    if (error == EACCES || error == EPERM)
        return ", or the Python it names, may not be read and executed by you\n"
               "hint: whoever installed mpiric can allow it: chmod -R a+rX on its directory";
    const std::string again = "\nhint: install mpiric again";
    if (error == ENOENT)
        return " names a Python that does not exist" + again;
    return std::string(" cannot be started: ") + std::strerror(error) + again;
}

// The first line of the script names the Python with which mpiric was installed. An environment that was
// moved or copied has its own Python next to the script, and `pyvenv.cfg` in the parent directory marks it as
// an environment. Returns the error with which the script itself could not be started.
int start_python(const std::string& bin, const std::string& script, const std::vector<std::string>& words) {
    const std::string python = bin + "python3";
    const std::string path = bin + script;
    const auto start = [&](std::vector<std::string> first) {
        const std::string program = first.front();
        first.insert(first.end(), words.begin(), words.end());
        execv(program.c_str(), argv_of(first).data());
        return errno;
    };
    if (access(path.c_str(), R_OK) == 0 && access((bin + "../pyvenv.cfg").c_str(), F_OK) == 0)
        start({python, path});
    const int error = start({path});
    if (error == ENOENT && access(path.c_str(), R_OK) == 0)
        start({python, path});
    return error;
}

// Does not return: Python does what is left.
[[noreturn]] void become_python(const std::string& called, const std::vector<std::string>& words) {
    const std::string name = "mpiric-python";
    std::string why = name + " is missing from the directory of this program\nhint: install mpiric again";
    for (const auto& beside : {find_program(called), target_of("/proc/self/exe")}) {
        const std::string path = directory_of(beside) + name;
        if (beside.empty())
            continue;
        const int error = start_python(directory_of(beside), name, words);
        if (error != ENOENT || access(path.c_str(), F_OK) == 0) {
            why = path + refusal(error);
            break;
        }
    }
    std::fprintf(stderr, "mpiric: %s\n", why.c_str());
    std::_Exit(cannot_start);
}

[[noreturn]] void become_compiler(const std::vector<std::string>& words) {
    execvp(words.front().c_str(), argv_of(words).data());
    std::_Exit(cannot_start);
}

// Ends this process when there is a plan; otherwise tells Python where to write one.
void compile(const Request& request) {
    const std::string key = request.key();
    const std::string path = plan_path(key);
    if (path.empty() || key.size() > longest_key)
        return;
    if (const auto plan = load_plan(path, key, request)) {
        if (plan->steps.size() == 1 && plan->sentences.empty())
            become_compiler(all_filled(plan->steps.front().argv, request, ""));
        if (plan->steps.size() > 1)
            if (const auto status = carry_out(*plan, request))
                std::_Exit(*status);
        return;
    }
    setenv("MPIRIC_PLAN", path.c_str(), 1);
    setenv("MPIRIC_PLAN_KEY", key.c_str(), 1);
    setenv("MPIRIC_PLAN_WORDS", request.positions().c_str(), 1);
}

// Ends this process when a build system only asks what the compiler can do and Python has said which that is.
void answer(const std::string& verb, const std::vector<std::string>& words) {
    const std::string first = words.empty() || words.front().starts_with('-') ? "" : words.front();
    const std::string key = verb + "\x1f\x1f" + first + settings();
    const std::string path = plan_path(key);
    if (path.empty() || key.size() > longest_key)
        return;
    if (const auto question = load_question(path, key)) {
        if (!is_asked(*question, words))
            return;
        auto whole = question->compiler;
        whole.insert(whole.end(), words.begin() + static_cast<std::ptrdiff_t>(question->named), words.end());
        become_compiler(whole);
    }
    setenv("MPIRIC_PLAN_QUESTION", path.c_str(), 1);
    setenv("MPIRIC_PLAN_QUESTION_KEY", key.c_str(), 1);
}

// A number below three that is free would become a file of ours.
void open_streams() {
    int file = 0;
    while (file >= 0 && file < 3)
        file = open("/dev/null", O_RDWR);
    if (file >= 3)
        close(file);
}

int run(int count, char** given) {
    open_streams();
    constexpr std::string_view prefix = "mpiric-";
    const std::string called = count > 0 ? given[0] : "mpiric";
    const std::string name = called.substr(called.rfind('/') + 1);
    std::vector<std::string> words(given + (count > 0 ? 1 : 0), given + count);
    if (name.starts_with(prefix))
        words.insert(words.begin(), name.substr(prefix.size()));
    const std::string verb = words.empty() ? "" : words.front();
    for (const char* setting : {"MPIRIC_PLAN", "MPIRIC_PLAN_KEY", "MPIRIC_PLAN_WORDS", "MPIRIC_PLAN_QUESTION",
                                "MPIRIC_PLAN_QUESTION_KEY"})
        unsetenv(setting);
    if (verb == "cc" || verb == "cxx" || verb == "fc") {
        const std::vector<std::string> own{words.begin() + 1, words.end()};
        const auto request = read_request(verb, own);
        if (request)
            compile(*request);
        answer(verb, own);
        if (request) {
            words = request->words;
            words.insert(words.begin(), verb);
        }
    }
    become_python(called, words);
}

}  // namespace
}  // namespace mpiric::front

int main(int count, char** given) { return mpiric::front::run(count, given); }
