// Spawning: the children are started by the library's launcher, which knows nothing of translation. They get
// it from `env` before their command, as this process has it.
#pragma once

#include "arguments.hpp"

#include <deque>
#include <string>
#include <unistd.h>
#include <vector>

namespace mpiric::translate {
namespace {

/// `SETTINGS… COMMAND ARGUMENTS…`: arguments of `env`, with settings that the children need.
Argv child_arguments(std::string command, char** arguments) {
    std::vector<std::string> texts;
    for (const char* name : {"LD_PRELOAD", "LD_LIBRARY_PATH", "MPIRIC_TRANSLATE"})
        if (const char* value = std::getenv(name); value && *value)
            texts.push_back(std::string(name) + "=" + value);
    texts.push_back(std::move(command));
    for (; arguments && *arguments; ++arguments)
        texts.emplace_back(*arguments);
    return Argv(std::move(texts));
}

/// An info for the library, which is the program's, or one of this call's own.
class InfoForCall {
  public:
    explicit InfoForCall(LInfo given) : info_(given) {}
    ~InfoForCall() {
        if (is_own_)
            original<F_MPI_Info_free, int(LInfo*)>()(&info_);
    }
    InfoForCall(const InfoForCall&) = delete;
    InfoForCall& operator=(const InfoForCall&) = delete;
    LInfo info() const { return info_; }

  protected:
    /// Becomes a copy, which may be changed; false where the library makes none.
    bool copy() {
        LInfo made{};
        is_own_ = (info_ == null_info ? original<F_MPI_Info_create, int(LInfo*)>()(&made)
                                      : original<F_MPI_Info_dup, int(LInfo, LInfo*)>()(info_, &made)) == 0;
        if (is_own_)
            info_ = made;
        return is_own_;
    }

  private:
    LInfo info_;
    bool is_own_ = false;
};

/// The info of a command: without the key `path`, by which a launcher would look for `env`.
class ChildInfo : public InfoForCall {
  public:
    explicit ChildInfo(LInfo given) : InfoForCall(given) {
        char text[8193] = "";
        int is_set = 0;
        if (given != null_info)
            original<F_MPI_Info_get, int(LInfo, const char*, int, char*, int*)>()(
                given, "path", sizeof text - 1, text, &is_set);
        if (!is_set || !copy())
            return;
        path_ = text;
        original<F_MPI_Info_delete, int(LInfo, const char*)>()(info(), "path");
    }
    /// The command where the path has it; in its first directory when it is in none that is seen from here.
    std::string command(const char* given) const {
        std::string name = given ? given : "";
        if (path_.empty() || name.empty() || name[0] == '/')
            return name;
        std::string first;
        for (std::size_t begin = 0; begin <= path_.size();) {
            const std::size_t end = std::min(path_.find(':', begin), path_.size());
            std::string place = path_.substr(begin, end - begin) + "/" + name;
            if (first.empty())
                first = place;
            if (access(place.c_str(), X_OK) == 0)
                return place;
            begin = end + 1;
        }
        return first;
    }

  private:
    std::string path_;
};

/// The info of a port. MPICH's ports may be longer than its own programs have room for where an info says so;
/// a program whose ABI has more room says it.
class PortInfo : public InfoForCall {
  public:
    explicit PortInfo(LInfo given) : InfoForCall(given) {
        if constexpr (program::MAX_PORT_NAME > library::MAX_PORT_NAME) {
            const std::string room = std::to_string(program::MAX_PORT_NAME);
            if (copy())
                original<F_MPI_Info_set, int(LInfo, const char*, const char*)>()(info(), "port_name_size",
                                                                                 room.c_str());
        }
    }
};

/// Only the root's arguments are significant: other ranks may pass anything.
bool is_root(LComm comm, int root) {
    int rank = -1;
    original<F_MPI_Comm_rank, int(LComm, int*)>()(comm, &rank);
    return rank == root;
}

char env_command[] = "/usr/bin/env";

void translate_codes(int rc, int* codes, long count) {
    if (codes)
        each(rc, codes, count, [](int& value) { value = to_program_error(value); });
}

}  // namespace

static int t_MPI_Comm_spawn(const char* command, char* argv[], int maxprocs, PInfo info, int root, PComm comm,
                            PComm* intercomm, int array_of_errcodes[]) {
    const Inside inside;
    const LComm parents = in<Comm>(comm);
    NewHandle<Comm> intercomm_(intercomm);
    const bool is_here = is_root(parents, root);
    const ChildInfo child(is_here ? in<Info>(info) : null_info);
    Argv arguments = child_arguments(child.command(is_here ? command : nullptr), is_here ? argv : nullptr);
    const int rc =
        original<F_MPI_Comm_spawn, int(const char*, char**, int, LInfo, int, LComm, LComm*, int*)>()(
            env_command, arguments.pointer(), is_here ? maxprocs : 0, child.info(), root, parents,
            intercomm_.pointer(), array_of_errcodes);
    intercomm_.done();
    translate_codes(rc, array_of_errcodes, is_here ? maxprocs : 0);
    return to_program_error(rc);
}

static int t_MPI_Comm_spawn_multiple(int count, char* commands[], char** argvs[], const int maxprocs[],
                                     const PInfo infos[], int root, PComm comm, PComm* intercomm,
                                     int array_of_errcodes[]) {
    const Inside inside;
    const LComm parents = in<Comm>(comm);
    NewHandle<Comm> intercomm_(intercomm);
    const long commands_read = is_root(parents, root) ? std::max(count, 0) : 0;
    std::deque<ChildInfo> children;
    std::vector<LInfo> infos_;
    std::vector<Argv> arguments;
    std::vector<char*> names(std::size_t(commands_read), env_command);
    std::vector<char**> pointers;
    arguments.reserve(std::size_t(commands_read));
    long processes = 0;
    for (long at = 0; at < commands_read; ++at) {
        infos_.push_back(children.emplace_back(infos ? in<Info>(infos[at]) : null_info).info());
        arguments.push_back(
            child_arguments(children.back().command(commands[at]), argvs ? argvs[at] : nullptr));
        pointers.push_back(arguments.back().pointer());
        processes += maxprocs[at];
    }
    const int rc = original<F_MPI_Comm_spawn_multiple,
                            int(int, char**, char***, const int*, const LInfo*, int, LComm, LComm*, int*)>()(
        count, names.data(), pointers.data(), maxprocs, infos_.data(), root, parents, intercomm_.pointer(),
        array_of_errcodes);
    intercomm_.done();
    translate_codes(rc, array_of_errcodes, processes);
    return to_program_error(rc);
}

static int t_MPI_Open_port(PInfo info, char* port_name) {
    const Inside inside;
    const PortInfo with_room(in<Info>(info));
    Text<program::MAX_PORT_NAME, false> text(port_name);
    int rc = original<F_MPI_Open_port, int(LInfo, char*)>()(with_room.info(), text.pointer());
    text.done(rc, nullptr);
    return to_program_error(rc);
}

static int t_MPI_Lookup_name(const char* service_name, PInfo info, char* port_name) {
    const Inside inside;
    const PortInfo with_room(in<Info>(info));
    Text<program::MAX_PORT_NAME, false> text(port_name);
    int rc = original<F_MPI_Lookup_name, int(const char*, LInfo, char*)>()(service_name, with_room.info(),
                                                                           text.pointer());
    text.done(rc, nullptr);
    return to_program_error(rc);
}

}  // namespace mpiric::translate
