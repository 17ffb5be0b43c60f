// The link that stands in a file's own place while its bytes are on a node's disk: to
// `DIRECTORY/mpiric-local-USER/HOST.PID-NONCE.NUMBER`.
#pragma once

#include <climits>

namespace mpiric::files::node_local {

struct Link {
    char target[PATH_MAX];

    /// `HOST.PID-NONCE.NUMBER`, which names the file in the whole job.
    const char* id() const noexcept;
};

/// Whether such a link is at a path; it is read then.
bool read_link(int directory, const char* path, Link& link) noexcept;

/// What stands beside a file for a while: its copy, of which it will be made, and the wish of another rank
/// for it.
inline constexpr const char* copy_name = ".mpiric-copy.";
inline constexpr const char* wish_name = ".mpiric-wish.";
bool write_beside(char (&to)[PATH_MAX], const char* path, const char* what, const char* id) noexcept;

/// A path as it is from anywhere; false where it is too long.
bool write_absolute(char (&to)[PATH_MAX], int directory, const char* path) noexcept;

}  // namespace mpiric::files::node_local
