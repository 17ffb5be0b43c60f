// How a file's bytes get from the node's disk to its own place.
#pragma once

#include "files/node_local/staged.hpp"

namespace mpiric::files::node_local {

/// What becomes of a file that is mapped into memory, where stores go on: it stays, unless the process is at
/// its end.
enum class Mapped : uint8_t { stays, goes };

/// Copies its bytes and puts the copy in place of the link. A file that is open goes on there, under the same
/// descriptor. False, with errno, where that fails, EBUSY for one that is mapped: then all is as before. Its
/// lock is held exclusively.
bool bring_home(Staged& staged, Mapped mapped = Mapped::stays) noexcept;

/// Takes the lock and brings the file home; true for one that is home already.
bool settle(Staged& staged, Mapped mapped = Mapped::stays) noexcept;

/// Takes the lock and brings home the file of a descriptor, where it is one on the node's disk.
void bring_home_of(int descriptor) noexcept;

/// Reserves room in its place for a file that is about to be closed. False, with errno, where that fails;
/// EOPNOTSUPP where the file system reserves none.
bool reserve_room(const Staged& staged) noexcept;

}  // namespace mpiric::files::node_local
