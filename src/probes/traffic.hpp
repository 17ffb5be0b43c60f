// Traffic on the network devices of this node and on the sockets of this process. Linux; does not use MPI.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mpiric::probes {

using Bytes = std::int64_t;

struct Traffic {
    std::map<std::string, Bytes> devices;  // interface or adapter → bytes sent by the whole node
    std::map<std::string, Bytes> sockets;  // local address of a TCP connection → bytes sent by this process
};

Traffic traffic_now();

// Traffic since an earlier state; devices and sockets without traffic are left out.
Traffic since(const Traffic& before, const Traffic& now);

// Memory that this process shares with others: "/dev/shm", "System V", "memfd", "other".
std::vector<std::string> shared_memory();

}  // namespace mpiric::probes
