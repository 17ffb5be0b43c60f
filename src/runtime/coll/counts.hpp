// The arrays of the v-forms, as the program gave them: of int, or of MPI_Count and MPI_Aint in the large
// forms.
#pragma once

#include "world/library.hpp"

#include <cstdint>
#include <cstring>

namespace mpiric::coll {

class Counts {
  public:
    constexpr Counts() noexcept = default;
    constexpr Counts(const int* narrow) noexcept : at_(narrow), step_(sizeof(int)) {}
    constexpr Counts(const long* wide) noexcept : at_(wide), step_(sizeof(int64_t)) {}
    constexpr Counts(const long long* wide) noexcept : at_(wide), step_(sizeof(int64_t)) {}

    MPI_Count operator[](int rank) const noexcept {
        if (step_ == sizeof(int))
            return static_cast<const int*>(at_)[rank];
        int64_t value;
        std::memcpy(&value, static_cast<const char*>(at_) + size_t(rank) * sizeof value, sizeof value);
        return MPI_Count(value);
    }
    explicit operator bool() const noexcept { return at_; }

  private:
    const void* at_ = nullptr;
    size_t step_ = 0;
};

static_assert(sizeof(MPI_Count) == sizeof(int64_t) && sizeof(MPI_Aint) == sizeof(int64_t));

}  // namespace mpiric::coll
