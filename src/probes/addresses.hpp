// IPv4 addresses of the interfaces of this node and of sockets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mpiric::probes {

struct Interface {
    std::string name;
    std::uint32_t address;  // host byte order, as in the mask
    std::uint32_t mask;
};

// Interfaces that are up, without the loopback interface.
std::vector<Interface> interfaces();

// Local address of a socket, such as "10.0.0.1"; "" if it is not a connected IP socket.
std::string own_address(int descriptor);

std::string dotted(std::uint32_t address);

}  // namespace mpiric::probes
