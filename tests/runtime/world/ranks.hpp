// Ranks as threads of this process, and between them the few functions of MPI with which the runtime moves
// messages and makes communicators. Included by one source of a program, instead of world/library.cpp.
#pragma once

#include "world/library.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace mpiric::world {

constinit Library library;
constinit Handles handles;

}  // namespace mpiric::world

namespace ranks {

using mpiric::world::handles;
using mpiric::world::library;

constexpr MPI_Comm world = 1;

struct Message {
    MPI_Comm comm;
    int from, tag;
    std::vector<std::byte> bytes;
};

struct Receive {
    void* buffer;
    size_t bytes;
    int from, tag;
    MPI_Comm comm;
};

/// State shared by the ranks of one run.
struct Job {
    std::mutex mutex;
    std::condition_variable came;
    std::vector<std::deque<Message>> inbox;
    std::map<MPI_Comm, std::vector<int>> members;  ///< world ranks of each live communicator
    std::map<int, int> colors;                     ///< colors of a split under way, by world rank
    std::map<int, MPI_Comm> split;                 ///< communicators of the latest split, by color
    MPI_Comm last_comm = world;
    int splits = 0;
    int without_room = -1;  ///< rank that gets no communicator of a split
};
inline Job* job = nullptr;
inline thread_local int rank = 0;
inline thread_local std::vector<Receive> posted;
inline thread_local std::map<MPI_Comm, MPI_Errhandler> handlers;

inline bool take(const Receive& receive) {
    const std::lock_guard held(job->mutex);
    auto& inbox = job->inbox[size_t(rank)];
    for (auto message = inbox.begin(); message != inbox.end(); ++message)
        if (message->comm == receive.comm && message->from == receive.from && message->tag == receive.tag) {
            std::copy(message->bytes.begin(), message->bytes.end(), static_cast<std::byte*>(receive.buffer));
            inbox.erase(message);
            return true;
        }
    return false;
}

inline int rank_in(MPI_Comm comm) {
    const std::lock_guard held(job->mutex);
    const auto& members = job->members.at(comm);
    return int(std::find(members.begin(), members.end(), rank) - members.begin());
}

inline int split(MPI_Comm comm, int color, int, MPI_Comm* made) {
    std::unique_lock held(job->mutex);
    const int number = job->splits;
    const auto members = job->members.at(comm);
    job->colors[rank] = rank == job->without_room ? MPI_UNDEFINED : color;
    if (job->colors.size() == members.size()) {
        job->split = {{MPI_UNDEFINED, handles.comm_null}};
        for (const int member : members)
            if (const int chosen = job->colors[member]; chosen != MPI_UNDEFINED) {
                if (job->split.emplace(chosen, job->last_comm + 1).second)
                    ++job->last_comm;
                job->members[job->split[chosen]].push_back(member);
            }
        ++job->splits;
        job->came.notify_all();
    }
    job->came.wait(held, [&] { return job->splits > number; });
    *made = job->split[job->colors[rank]];
    // The last to leave clears the table for the next split.
    static int left = 0;
    if (++left == int(members.size())) {
        left = 0;
        job->colors.clear();
        ++job->splits;
        job->came.notify_all();
    } else {
        job->came.wait(held, [&] { return job->splits > number + 1; });
    }
    return MPI_SUCCESS;
}

inline int isend(const void* from, int count, MPI_Datatype, int to, int tag, MPI_Comm comm,
                 MPI_Request* request) {
    const int sender = rank_in(comm);
    const std::lock_guard held(job->mutex);
    const auto* first = static_cast<const std::byte*>(from);
    job->inbox[size_t(job->members.at(comm)[size_t(to)])].push_back(
        {comm, sender, tag, {first, first + count}});
    *request = 0;
    return MPI_SUCCESS;
}

inline int irecv(void* to, int count, MPI_Datatype, int from, int tag, MPI_Comm comm, MPI_Request* request) {
    posted.push_back({to, size_t(count), from, tag, comm});
    *request = MPI_Request(posted.size());
    return MPI_SUCCESS;
}

inline int test(MPI_Request* request, int* flag, MPI_Status*) {
    if (*request && take(posted[size_t(*request) - 1]))
        *request = 0;
    *flag = *request == 0;
    return MPI_SUCCESS;
}

inline void bind() {
    handles.comm_world = world;
    handles.errors_return = 7;
    library.Comm_rank = [](MPI_Comm comm, int* number) { return *number = rank_in(comm), MPI_SUCCESS; };
    library.Comm_size = [](MPI_Comm comm, int* size) {
        const std::lock_guard held(job->mutex);
        return *size = int(job->members.at(comm).size()), MPI_SUCCESS;
    };
    library.Comm_split = split;
    library.Comm_idup = [](MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
        return *request = 0, split(comm, 0, 0, made);
    };
    library.Comm_free = [](MPI_Comm* comm) { return *comm = handles.comm_null, MPI_SUCCESS; };
    library.Comm_get_errhandler = [](MPI_Comm comm, MPI_Errhandler* handler) {
        return *handler = handlers[comm], MPI_SUCCESS;
    };
    library.Comm_set_errhandler = [](MPI_Comm comm, MPI_Errhandler handler) {
        return handlers[comm] = handler, MPI_SUCCESS;
    };
    library.Errhandler_free = [](MPI_Errhandler*) { return MPI_SUCCESS; };
    library.Isend = isend;
    library.Irecv = irecv;
    library.Send = [](const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
        MPI_Request request{};
        return isend(from, count, type, to, tag, comm, &request);
    };
    library.Recv = [](void* to, int count, MPI_Datatype, int from, int tag, MPI_Comm comm, MPI_Status*) {
        while (!take({to, size_t(count), from, tag, comm}))
            std::this_thread::yield();
        return MPI_SUCCESS;
    };
    library.Test = test;
    library.Testall = [](int count, MPI_Request requests[], int* flag, MPI_Status*) {
        int done = 0;
        for (int index = 0; index < count; ++index) {
            int one_done = 0;
            test(&requests[index], &one_done, nullptr);
            done += one_done;
        }
        return *flag = done == count, MPI_SUCCESS;
    };
}

/// Runs `program(rank)` on `size` ranks.
template <class Program> void run(int size, Program&& program, int without_room = -1) {
    Job shared;
    shared.inbox.resize(size_t(size));
    shared.without_room = without_room;
    for (int member = 0; member < size; ++member)
        shared.members[world].push_back(member);
    job = &shared;
    bind();
    std::vector<std::thread> threads;
    for (int member = 0; member < size; ++member)
        threads.emplace_back([&program, member] {
            rank = member;
            program(member);
        });
    for (std::thread& thread : threads)
        thread.join();
}

}  // namespace ranks
