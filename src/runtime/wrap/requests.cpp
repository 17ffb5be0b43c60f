#include "wrap/requests.hpp"

#include "base/handle_map.hpp"
#include "world/datatypes.hpp"

namespace mpiric::wrap {
namespace {

constinit HandleMap<Persistent, 4096> requests;

}  // namespace

void remember_request(MPI_Request request, const Persistent& what) noexcept {
    requests.put(world::number(request), what);
}

bool find_request(MPI_Request request, Persistent& what) noexcept {
    return requests.get(world::number(request), what);
}

void forget_request(MPI_Request request) noexcept { requests.erase(world::number(request)); }

}  // namespace mpiric::wrap
