// Where a file lies in place of the directory that the program names: `out/restart.17` as
// `out/mpiric-spread/03/restart.17`.
#pragma once

#include <climits>
#include <string_view>

namespace mpiric::spread {

inline constexpr const char* spread_directory = "mpiric-spread";
inline constexpr const char* manifest_name = "manifest";
inline constexpr unsigned most_subdirectories = 4096;

/// A path of the program's and, where a rule fits its name, the path in one of the subdirectories. Both are
/// relative to the same directory.
class Place {
  public:
    /// `rules`: `PATTERN COUNT;…`, as files/rules.hpp reads them; COUNT subdirectories.
    Place(const char* path, std::string_view rules) noexcept;

    /// Whether a rule fits.
    bool is_spread() const noexcept { return spread_[0] != '\0'; }
    const char* own() const noexcept { return own_; }
    const char* spread() const noexcept { return spread_; }
    /// The directory of all subdirectories, into `to`.
    void write_top(char (&to)[PATH_MAX]) const noexcept;
    /// The subdirectory of this file, into `to`.
    void write_subdirectory(char (&to)[PATH_MAX]) const noexcept;

  private:
    const char* own_;
    int head_ = 0;  ///< length of the directory that the program names, its slash included
    char spread_[PATH_MAX];
};

}  // namespace mpiric::spread
