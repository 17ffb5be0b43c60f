// The library's control variables (MPI_T, MPI-4.1 chapter 15.3), written while the program runs.
#pragma once

#include "world/library.hpp"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace mpiric::world {

/// Index of each variable by name, asked of the library once; empty where it has no MPI_T.
const std::unordered_map<std::string, int>& variables();

/// One control variable and the value it is to have for a while.
class Setting {
  public:
    /// False when the library has no such variable, it cannot be written, or it has no such value.
    bool open(const std::string& variable, const std::string& value) noexcept;

    /// Whether the variable has the value now; writes nothing.
    bool is_in_force(const std::string& variable, const std::string& value) noexcept;

    bool apply() noexcept;
    /// Writes what was there before the last apply().
    void restore() noexcept;

  private:
    /// Finds the variable and spells the value as its type wants it.
    bool find(const std::string& variable, const std::string& value) noexcept;
    bool spell(const std::string& value, const char* description) noexcept;

    MPI_T_cvar_handle handle_{};
    int count_ = 0;
    size_t element_bytes_ = 0;
    std::vector<char> value_, before_;
};

/// Several settings at once. If one cannot be applied, those before it are restored in reverse.
class Settings {
  public:
    bool open(const std::string& variable, const std::string& value) noexcept;
    bool apply() noexcept;
    void restore() noexcept;

  private:
    std::vector<Setting> settings_;
};

/// Number of an algorithm in MPICH's description of a variable that selects one, whose values count from 0 in
/// the order in which they are described as `name - what it does`; -1 when it is not there.
int described_value(const char* description, const char* name) noexcept;

}  // namespace mpiric::world
