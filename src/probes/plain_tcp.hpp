// What a network gives a program that speaks TCP itself: the yardstick for MPI over the same network. No MPI.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpiric::probes {

struct Listener {
    int descriptor;  // -1 when none could be made
    std::uint16_t port;
};

Listener listen_everywhere();

// Serves one connection to its end; returns when nobody connects within a few seconds.
void serve(const Listener& listener);

struct Connection {
    int descriptor;  // -1 when the other side could not be reached in time
};

Connection connect_from(std::uint32_t own, std::uint32_t peer, std::uint16_t port);

// Median seconds of one way of so many bytes, over what fits the budget; 0 when the connection broke.
double one_way_s(const Connection& connection, std::size_t size_bytes, double budget_s);

void hang_up(const Connection& connection);

}  // namespace mpiric::probes
