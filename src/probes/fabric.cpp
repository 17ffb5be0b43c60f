// Route of messages between ranks by their distance: same rank, same NUMA node, same node, other node.
//
// Rank 0 chooses one pair for each of these classes and informs both ranks. All other ranks sleep, so that a
// node with fewer cores than ranks measures the network instead of its scheduler.
#include "addresses.hpp"
#include "exchange.hpp"
#include "plain_tcp.hpp"
#include "probe_mpi.hpp"
#include "process.hpp"
#include "traffic.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <string>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace mpiric::probes {
namespace {

constexpr Effort brief{.warm_up = 2, .most_batches = 15, .batch_s = 1e-3, .budget_s = 0.1};
constexpr double plain_budget_s = 0.06;
constexpr std::size_t plain_sizes[] = {8, 1 << 20};

enum Class { self, same_numa, same_node, other_node, classes };
constexpr std::array<const char*, classes> class_names{"self", "same NUMA", "same node", "other node"};

struct Seat {
    std::array<char, 256> host;
    int numa;
    int pu;
};

struct Task {
    int kind;  // a Class, or `classes` at the end
    int first;
    int second;
};

Seat own_seat() {
    Seat seat{};
    const std::string host = host_name();
    std::copy_n(host.data(), std::min(host.size(), seat.host.size() - 1), seat.host.data());
    unsigned pu = 0;
    unsigned numa = 0;
    syscall(SYS_getcpu, &pu, &numa, nullptr);  // glibc has a wrapper since 2.29
    seat.numa = static_cast<int>(numa);
    seat.pu = static_cast<int>(pu);
    return seat;
}

Class class_of(const Seat& first, const Seat& second) {
    if (std::strcmp(first.host.data(), second.host.data()) != 0) {
        return other_node;
    }
    return first.numa == second.numa ? same_numa : same_node;
}

// First pair of each class, with rank 0 if possible.
std::vector<Task> tasks_for(const std::vector<Seat>& seats) {
    std::array<Task, classes> found{};
    found.fill({.kind = classes, .first = 0, .second = 0});
    found[self] = {.kind = self, .first = 0, .second = 0};
    const int size = static_cast<int>(seats.size());
    const auto complete = [&] {
        return std::all_of(found.begin(), found.end(), [](const Task& task) { return task.kind < classes; });
    };
    for (int first = 0; first < size && !complete(); ++first) {
        for (int second = first + 1; second < size; ++second) {
            const Class kind =
                class_of(seats[static_cast<std::size_t>(first)], seats[static_cast<std::size_t>(second)]);
            if (found[kind].kind == classes) {
                found[kind] = {.kind = kind, .first = first, .second = second};
            }
        }
    }
    std::vector<Task> tasks{found.begin(), found.end()};
    std::erase_if(tasks, [](const Task& task) { return task.kind == classes; });
    return tasks;
}

// Waits without using a core.
void sleep_until_message(int source, int tag) {
    for (int there = 0; there == 0;) {
        MPI_Iprobe(source, tag, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        if (there == 0) {
            std::this_thread::sleep_for(std::chrono::microseconds{500});
        }
    }
}

void send_text(const std::string& text, int target, int tag) {
    MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, target, tag, MPI_COMM_WORLD);
}

std::string receive_text(int source, int tag) {
    sleep_until_message(source, tag);
    MPI_Status status;
    int length = 0;
    MPI_Probe(source, tag, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_CHAR, &length);
    std::string text(static_cast<std::size_t>(length), ' ');
    MPI_Recv(text.data(), length, MPI_CHAR, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return text;
}

std::string json_map(const std::map<std::string, Bytes>& map) {
    std::string text = "{";
    for (const auto& [name, bytes] : map) {
        text += (text.size() > 1 ? "," : "") + json_text(name) + ':' + std::to_string(bytes);
    }
    return text + '}';
}

std::string json_list(const std::vector<std::string>& words) {
    std::string text = "[";
    for (const auto& word : words) {
        text += (text.size() > 1 ? "," : "") + json_text(word);
    }
    return text + ']';
}

std::string pair_line(const Task& task, std::size_t bytes, const Timing& timing) {
    std::array<char, 256> text{};
    std::snprintf(text.data(), text.size(),
                  "\"bytes\":%zu,\"latency_us\":%.4f,\"latency_us_min\":%.4f,\"bandwidth_mb_s\":%.3f,"
                  "\"messages\":%d,\"preempted\":%.3g,\"intact\":%s}\n",
                  bytes, timing.median_s * 1e6, timing.least_s * 1e6,
                  static_cast<double>(bytes) / timing.median_s * 1e-6, timing.messages, timing.preempted,
                  timing.intact ? "true" : "false");
    return R"({"kind":"pair","class":)" + json_text(class_names[static_cast<std::size_t>(task.kind)]) +
           ",\"ranks\":" + json_numbers({task.first, task.second}) + ',' + text.data();
}

std::string measure(const Task& task, const Pair& pair, const std::vector<std::size_t>& sizes_bytes) {
    std::string lines;
    std::size_t payload = 0;
    const Traffic before = traffic_now();
    for (const std::size_t bytes : sizes_bytes) {
        const Timing timing = exchange(pair, bytes, brief);
        lines += pair.first ? pair_line(task, bytes, timing) : "";
        payload += bytes * static_cast<std::size_t>(timing.messages / 2);
    }
    const Traffic moved = since(before, traffic_now());
    return lines + R"({"kind":"moved","class":)" +
           json_text(class_names[static_cast<std::size_t>(task.kind)]) +
           ",\"payload\":" + std::to_string(payload) + ",\"devices\":" + json_map(moved.devices) +
           ",\"sockets\":" + json_map(moved.sockets) + ",\"shared\":" + json_list(shared_memory()) + "}\n";
}

std::string network_line(const Interface& own, const Interface& peer, const std::array<double, 2>& times_s) {
    std::array<char, 128> text{};
    std::snprintf(text.data(), text.size(), "\"latency_us\":%.4f,\"bandwidth_mb_s\":%.3f}\n",
                  times_s[0] * 1e6, static_cast<double>(plain_sizes[1]) / times_s[1] * 1e-6);
    return R"({"kind":"network","name":)" + json_text(own.name) +
           ",\"address\":" + json_text(dotted(own.address)) + ",\"peer\":" + json_text(dotted(peer.address)) +
           ',' + text.data();
}

std::string addresses_text(const std::vector<Interface>& interfaces, std::uint16_t port) {
    std::string text(sizeof port, ' ');
    std::memcpy(text.data(), &port, sizeof port);
    for (const Interface& each : interfaces) {
        text.append(reinterpret_cast<const char*>(&each.address), sizeof each.address);
    }
    return text;
}

// Measures each local network in turn, to the address of the other side on the same network.
std::string plain_networks(int other) {
    const std::string text = receive_text(other, address_tag);
    std::uint16_t port = 0;
    std::memcpy(&port, text.data(), sizeof port);
    std::string lines;
    for (const Interface& own : interfaces()) {
        for (std::size_t at = sizeof port; at + sizeof(std::uint32_t) <= text.size();
             at += sizeof(std::uint32_t)) {
            Interface peer{.name = "", .address = 0, .mask = own.mask};
            std::memcpy(&peer.address, text.data() + at, sizeof peer.address);
            if ((peer.address & own.mask) != (own.address & own.mask) || peer.address == own.address) {
                continue;
            }
            send_text("next", other, turn_tag);
            const Connection connection = connect_from(own.address, peer.address, port);
            std::array<double, 2> times_s{};
            for (std::size_t i = 0; connection.descriptor >= 0 && i < times_s.size(); ++i) {
                times_s[i] = one_way_s(connection, plain_sizes[i], plain_budget_s);
            }
            hang_up(connection);
            if (times_s[0] > 0 && times_s[1] > 0) {
                lines += network_line(own, peer, times_s);
            }
            break;
        }
    }
    send_text("end", other, turn_tag);
    return lines;
}

void serve_networks(int other) {
    const Listener listener = listen_everywhere();
    send_text(addresses_text(interfaces(), listener.port), other, address_tag);
    while (receive_text(other, turn_tag) == "next") {
        serve(listener);
    }
}

// Bytes copied per second, in memory that exceeds all caches.
double copy_mb_s() {
    constexpr std::size_t size = std::size_t{32} << 20;
    const std::vector<char> source(size, 'm');
    std::vector<char> target(size);
    double best_s = 1e9;
    for (int repeat = 0; repeat < 5; ++repeat) {
        const double start = MPI_Wtime();
        std::memcpy(target.data(), source.data(), size);
        best_s = std::min(best_s, MPI_Wtime() - start + (target[size / 2] == 'm' ? 0.0 : 1e9));
    }
    return static_cast<double>(size) / best_s * 1e-6;
}

std::string first_side(const Task& task, const std::vector<std::size_t>& sizes_bytes) {
    const Pair pair{.first = true, .other = task.second, .alone = task.kind == self};
    std::string lines = measure(task, pair, sizes_bytes);
    if (task.kind == other_node) {
        lines += plain_networks(task.second);
    } else if (task.kind == self) {
        lines += R"({"kind":"copy","mb_s":)" + std::to_string(copy_mb_s()) + "}\n";
    }
    return lines;
}

void second_side(const Task& task, const std::vector<std::size_t>& sizes_bytes) {
    measure(task, {.first = false, .other = task.first, .alone = false}, sizes_bytes);
    if (task.kind == other_node) {
        serve_networks(task.first);
    }
}

void coordinate(const std::vector<Seat>& seats, const std::vector<std::size_t>& sizes_bytes) {
    for (std::size_t rank = 0; rank < seats.size(); ++rank) {
        const Seat& seat = seats[rank];
        std::printf("{\"kind\":\"rank\",\"rank\":%zu,\"host\":%s,\"numa\":%d,\"pu\":%d}\n", rank,
                    json_text(seat.host.data()).c_str(), seat.numa, seat.pu);
    }
    for (const Task& task : tasks_for(seats)) {
        for (const int rank : {task.first, task.second}) {
            if (rank != 0) {
                MPI_Send(&task, 3, MPI_INT, rank, task_tag, MPI_COMM_WORLD);
            }
        }
        const bool mine = task.first == 0;
        std::fputs((mine ? first_side(task, sizes_bytes) : receive_text(task.first, result_tag)).c_str(),
                   stdout);
        std::fflush(stdout);
    }
    const Task end{.kind = classes, .first = 0, .second = 0};
    for (int rank = 1; rank < static_cast<int>(seats.size()); ++rank) {
        MPI_Send(&end, 3, MPI_INT, rank, task_tag, MPI_COMM_WORLD);
    }
}

void obey(int own_rank, const std::vector<std::size_t>& sizes_bytes) {
    for (;;) {
        sleep_until_message(0, task_tag);
        Task task{};
        MPI_Recv(&task, 3, MPI_INT, 0, task_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (task.kind == classes) {
            return;
        }
        if (task.first == own_rank) {
            send_text(first_side(task, sizes_bytes), 0, result_tag);
        } else {
            second_side(task, sizes_bytes);
        }
    }
}

}  // namespace

int print_fabric(const std::vector<std::size_t>& sizes_bytes) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const Seat mine = own_seat();
    std::vector<Seat> seats(rank == 0 ? static_cast<std::size_t>(size) : 0);
    MPI_Gather(&mine, sizeof mine, MPI_BYTE, seats.data(), sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        coordinate(seats, sizes_bytes);
    } else {
        obey(rank, sizes_bytes);
    }
    return EXIT_SUCCESS;
}

}  // namespace mpiric::probes
