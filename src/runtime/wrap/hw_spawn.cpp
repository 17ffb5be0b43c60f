// Functions that start processes. MPICH's launchers give those the environment of the ranks. Open MPI's give
// theirs, and what the info of the call names: there the root names the variables that brought the runtime to
// it.
#include "wrap/intercept.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <unistd.h>

namespace mpiric::wrap {
namespace {

constexpr size_t longest = 255;  // value of a key in Open MPI (MPI_MAX_INFO_VAL - 1)

/// Key of variables, one on a line, that this library sets for what it spawns; null where it needs none.
const char* variables_key() noexcept {
    static constexpr char name[] = "Open MPI v";
    const char* found = std::strstr(world::version_text(), name);
    if (!found)
        return nullptr;
    return std::strtol(found + sizeof name - 1, nullptr, 10) < 5 ? "env" : "PMIX_ENVAR";
}

/// Lines `NAME=VALUE`, as many as fit.
class Variables {
  public:
    bool add(const char* line) noexcept {
        const size_t length = std::strlen(line);
        const size_t begin = used_ ? used_ + 1 : 0;
        if (begin + length > longest)
            return false;
        if (used_)
            text_[used_] = '\n';
        std::memcpy(text_ + begin, line, length + 1);
        used_ = begin + length;
        return true;
    }
    bool add_own(const char* name) noexcept {
        const char* value = std::getenv(name);
        char line[longest + 1];
        return value && !std::strchr(value, '\n') &&
               size_t(std::snprintf(line, sizeof line, "%s=%s", name, value)) < sizeof line && add(line);
    }
    const char* text() const noexcept { return text_; }

  private:
    char text_[longest + 1] = "";
    size_t used_ = 0;
};

/// Adds what brings the runtime to another process; false when not even the necessary fits.
bool add_runtime(Variables& variables) noexcept {
    static constexpr const char* needed[] = {"LD_PRELOAD", "MPIRIC_RECORD_DIR", "MPIRIC_MERGE"};
    for (const char* name : needed)
        if (std::getenv(name) && !variables.add_own(name))
            return false;
    for (char** line = environ; *line; ++line)
        if (std::strncmp(*line, "MPIRIC_", 7) == 0 && !std::strchr(*line, '\n') &&
            std::strncmp(*line, "MPIRIC_RECORD_DIR=", 18) != 0 &&
            std::strncmp(*line, "MPIRIC_MERGE=", 13) != 0)
            variables.add(*line);
    return true;
}

/// A copy of the info of a call with our variables behind its own; the null info when there is nothing to
/// add, no room, or the call says itself what is to be preloaded.
MPI_Info with_runtime(MPI_Info info, const char* key) noexcept {
    const MPI_Info none = world::handles.info_null;
    if (info == MPI_Info{})
        return none;
    Variables variables;
    for (const char* own : {"env", "PMIX_ENVAR"}) {
        char value[longest + 1] = "";
        int found = 0;
        if (info == none || world::library.Info_get(info, own, longest, value, &found) != MPI_SUCCESS ||
            !found)
            continue;
        if (std::strstr(value, "LD_PRELOAD=") || (std::strcmp(own, key) == 0 && !variables.add(value)))
            return none;
    }
    MPI_Info ours{};
    if (!add_runtime(variables) || (info == none ? world::library.Info_create(&ours)
                                                 : world::library.Info_dup(info, &ours)) != MPI_SUCCESS)
        return none;
    if (world::library.Info_set(ours, key, variables.text()) == MPI_SUCCESS)
        return ours;
    world::library.Info_free(&ours);
    return none;
}

/// What the library is given in place of the infos of a call: ours for all commands, or its own for all,
/// since ranks with the runtime wait for the others at the end.
class Infos {
  public:
    Infos(int count, const MPI_Info* given, int root, MPI_Comm comm) noexcept : given_(given) {
        const char* key = variables_key();
        const char* preload = std::getenv("LD_PRELOAD");
        int rank = -1;
        // Only the root's arguments mean anything.
        if (!key || !preload || !std::strstr(preload, "libmpiric.so") || count < 1 || !given ||
            comm == world::handles.comm_null || world::library.Comm_rank(comm, &rank) != MPI_SUCCESS ||
            rank != root)
            return;
        ours_.reset(new (std::nothrow) MPI_Info[size_t(count)]);
        while (ours_ && made_ < count) {
            ours_[made_] = with_runtime(given[made_], key);
            if (ours_[made_] == world::handles.info_null)
                give_back();
            else
                ++made_;
        }
    }
    Infos(const Infos&) = delete;
    Infos& operator=(const Infos&) = delete;
    ~Infos() { give_back(); }

    const MPI_Info* get() const noexcept { return ours_ ? ours_.get() : given_; }

  private:
    void give_back() noexcept {
        while (made_ > 0)
            world::library.Info_free(&ours_[--made_]);
        ours_.reset();
    }

    const MPI_Info* given_;
    std::unique_ptr<MPI_Info[]> ours_;
    int made_ = 0;
};

}  // namespace

extern "C" int w_MPI_Comm_spawn(const char* command, char* argv[], int maxprocs, MPI_Info info, int root,
                                MPI_Comm comm, MPI_Comm* intercomm, int array_of_errcodes[]) {
    return intercept<Function::MPI_Comm_spawn, Policy::always, decltype(&w_MPI_Comm_spawn)>(
        [&](auto* next) {
            const Infos infos(1, &info, root, substitute(comm));
            return next(command, argv, maxprocs, *infos.get(), root, substitute(comm), intercomm,
                        array_of_errcodes);
        },
        [&](Call& call) {
            call.on(comm);
            if (intercomm)
                call.born(*intercomm);
        });
}
extern "C" int p_MPI_Comm_spawn(const char* command, char* argv[], int maxprocs, MPI_Info info, int root,
                                MPI_Comm comm, MPI_Comm* intercomm, int array_of_errcodes[]) {
    return by_profiling_name<Function::MPI_Comm_spawn>(&w_MPI_Comm_spawn, command, argv, maxprocs, info, root,
                                                       comm, intercomm, array_of_errcodes);
}

extern "C" int w_MPI_Comm_spawn_multiple(int count, char* array_of_commands[], char** array_of_argv[],
                                         const int array_of_maxprocs[], const MPI_Info array_of_info[],
                                         int root, MPI_Comm comm, MPI_Comm* intercomm,
                                         int array_of_errcodes[]) {
    return intercept<Function::MPI_Comm_spawn_multiple, Policy::always, decltype(&w_MPI_Comm_spawn_multiple)>(
        [&](auto* next) {
            const Infos infos(count, array_of_info, root, substitute(comm));
            return next(count, array_of_commands, array_of_argv, array_of_maxprocs, infos.get(), root,
                        substitute(comm), intercomm, array_of_errcodes);
        },
        [&](Call& call) {
            call.on(comm);
            if (intercomm)
                call.born(*intercomm);
        });
}
extern "C" int p_MPI_Comm_spawn_multiple(int count, char* array_of_commands[], char** array_of_argv[],
                                         const int array_of_maxprocs[], const MPI_Info array_of_info[],
                                         int root, MPI_Comm comm, MPI_Comm* intercomm,
                                         int array_of_errcodes[]) {
    return by_profiling_name<Function::MPI_Comm_spawn_multiple>(
        &w_MPI_Comm_spawn_multiple, count, array_of_commands, array_of_argv, array_of_maxprocs, array_of_info,
        root, comm, intercomm, array_of_errcodes);
}

}  // namespace mpiric::wrap
