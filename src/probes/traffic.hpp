// What moves on the network devices of this node and on the sockets of this process. Linux; no MPI.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mpiric::probes {

using Bytes = std::int64_t;

struct Traffic {
    std::map<std::string, Bytes> devices;  // interface or adapter → bytes sent, of the whole node
    std::map<std::string, Bytes> sockets;  // own address of a TCP connection → bytes sent by this process
};

Traffic traffic_now();

// What was added since; devices and sockets that moved nothing are left out.
Traffic since(const Traffic& before, const Traffic& now);

// Memory this process shares with others: "/dev/shm", "System V", "memfd", "other".
std::vector<std::string> shared_memory();

}  // namespace mpiric::probes
