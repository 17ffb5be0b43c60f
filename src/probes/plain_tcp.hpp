// Speed of plain TCP over a network, as a reference for MPI over the same network. Does not use MPI.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpiric::probes {

struct Listener {
    int descriptor;  // -1 if none could be created
    std::uint16_t port;
};

Listener listen_everywhere();

// Serves one connection until it ends; returns if nobody connects within a few seconds.
void serve(const Listener& listener);

struct Connection {
    int descriptor;  // -1 if the other side could not be reached in time
};

Connection connect_from(std::uint32_t own, std::uint32_t peer, std::uint16_t port);

// Median of the seconds that `bytes` need for one way, within a time budget; 0 if the connection broke.
double one_way_s(const Connection& connection, std::size_t size_bytes, double budget_s);

void hang_up(const Connection& connection);

}  // namespace mpiric::probes
