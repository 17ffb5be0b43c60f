// IPv4 addresses: of this node's interfaces and of sockets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mpiric::probes {

struct Interface {
    std::string name;
    std::uint32_t address;  // host byte order, as the mask
    std::uint32_t mask;
};

// Those that are up and no loopback.
std::vector<Interface> interfaces();

// "10.0.0.1", of a socket's own side; "" when it is no connected IP socket.
std::string own_address(int descriptor);

std::string dotted(std::uint32_t address);

}  // namespace mpiric::probes
