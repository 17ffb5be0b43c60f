// Spawning: the children are started by the library's launcher, which knows nothing of translation. They get
// it from `env` before their command, as this process has it.
#include "arguments.hpp"

#include <string>
#include <vector>

namespace mpiric::translate {
namespace {

/// What the children need of this process's environment, as arguments of `env`.
std::vector<std::string> settings() {
    std::vector<std::string> found;
    for (const char* name : {"LD_PRELOAD", "LD_LIBRARY_PATH", "MPIRIC_TRANSLATE"})
        if (const char* value = std::getenv(name); value && *value)
            found.push_back(std::string(name) + "=" + value);
    return found;
}

/// `env SETTINGS… COMMAND ARGUMENTS…`, but for `env` itself.
class ChildArguments {
  public:
    ChildArguments(const char* command, char** arguments) : texts_(settings()) {
        texts_.emplace_back(command ? command : "");
        for (; arguments && *arguments; ++arguments)
            texts_.emplace_back(*arguments);
        for (std::string& text : texts_)
            pointers_.push_back(text.data());
        pointers_.push_back(nullptr);
    }
    char** pointer() { return pointers_.data(); }

  private:
    std::vector<std::string> texts_;
    std::vector<char*> pointers_;
};

/// Only the root's arguments mean anything: those of others may be anything at all.
bool is_root(LComm comm, int root) {
    int rank = -1;
    CALL(MPI_Comm_rank, int, LComm, int*)(comm, &rank);
    return rank == root;
}

char env_command[] = "/usr/bin/env";

void translate_codes(int rc, int* codes, long count) {
    if (codes)
        each(rc, codes, count, [](int& value) { value = TO_PROGRAM(error, value); });
}

}  // namespace

static int t_MPI_Comm_spawn(const char* command, char* argv[], int maxprocs, PInfo info, int root, PComm comm,
                            PComm* intercomm, int array_of_errcodes[]) {
    const Inside inside;
    const LComm parents = in<Comm>(comm);
    NewHandle<Comm> intercomm_(intercomm);
    const bool is_here = is_root(parents, root);
    ChildArguments arguments(is_here ? command : nullptr, is_here ? argv : nullptr);
    const int rc = CALL(MPI_Comm_spawn, int, const char*, char**, int, LInfo, int, LComm, LComm*, int*)(
        env_command, arguments.pointer(), is_here ? maxprocs : 0, is_here ? in<Info>(info) : LInfo{}, root,
        parents, intercomm_.pointer(), array_of_errcodes);
    intercomm_.done();
    translate_codes(rc, array_of_errcodes, is_here ? maxprocs : 0);
    return TO_PROGRAM(error, rc);
}

static int t_MPI_Comm_spawn_multiple(int count, char* commands[], char** argvs[], const int maxprocs[],
                                     const PInfo infos[], int root, PComm comm, PComm* intercomm,
                                     int array_of_errcodes[]) {
    const Inside inside;
    const LComm parents = in<Comm>(comm);
    NewHandle<Comm> intercomm_(intercomm);
    const long commands_read = is_root(parents, root) ? std::max(count, 0) : 0;
    Handles<Info> infos_(infos, commands_read);
    std::vector<ChildArguments> arguments;
    std::vector<char*> names(std::size_t(commands_read), env_command);
    std::vector<char**> pointers;
    arguments.reserve(std::size_t(commands_read));
    long children = 0;
    for (long at = 0; at < commands_read; ++at) {
        arguments.emplace_back(commands[at], argvs ? argvs[at] : nullptr);
        pointers.push_back(arguments.back().pointer());
        children += maxprocs[at];
    }
    const int rc = CALL(MPI_Comm_spawn_multiple, int, int, char**, char***, const int*, const LInfo*, int,
                        LComm, LComm*, int*)(count, names.data(), pointers.data(), maxprocs, infos_.pointer(),
                                             root, parents, intercomm_.pointer(), array_of_errcodes);
    intercomm_.done();
    translate_codes(rc, array_of_errcodes, children);
    return TO_PROGRAM(error, rc);
}

}  // namespace mpiric::translate
