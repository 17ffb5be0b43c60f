// The candidates that this library and this process have, by name.
#pragma once

#include "base/collective.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mpiric::tune {

/// A control variable of the library and what it is set to.
struct Write {
    std::string variable, value;

    /// Whether it says which component of the library comes first. Open MPI 4.1 lets nobody write that, and
    /// has in front what its variables speak of.
    bool orders_components() const noexcept { return variable.ends_with("_priority"); }
};

enum class Kind : uint8_t {
    library,   ///< what it does by itself
    switched,  ///< one of its own, by control variables
    own        ///< ours
};

/// Whether control variables are the process's, or act on communicators that are made after the write.
enum class Scope : uint8_t { process, communicator };

struct Candidate {
    Collective collective{};
    Kind kind = Kind::library;
    std::string name;  ///< as in policies
    std::vector<Write> writes;
    Scope scope = Scope::process;  ///< of the writes
    int32_t parent = -1;           ///< index of the candidate of which this is a variant
    bool worth_trying = true;      ///< false: only a policy asks for it
};

/// Which library this is, as the files of spec/candidates are named, and its version.
struct Library {
    std::string implementation;  ///< empty: none that is known
    std::vector<uint32_t> version;

    uint32_t major() const noexcept { return version.empty() ? 0 : version[0]; }
    std::string version_text() const;
};

/// From what MPI_Get_library_version says.
Library library_of(std::string_view text);

class Catalogue {
  public:
    Catalogue() = default;
    /// The library's own algorithms. For each collective its default comes first.
    explicit Catalogue(const Library& library);

    /// Adds one of ours.
    void add_own(Collective collective, std::string_view name);
    /// Takes out what does not satisfy; indices change.
    template <class Usable> void keep(Usable&& usable);

    /// Index of the candidate of that name, made from its parameters when it is not there yet; -1 when there
    /// is no such algorithm.
    int32_t find(Collective collective, std::string_view name);

    const Candidate& operator[](uint32_t at) const noexcept { return candidates_[at]; }
    uint32_t size() const noexcept { return uint32_t(candidates_.size()); }
    /// Of a collective, to be tried; the library's default first.
    std::vector<uint32_t> of(Collective collective) const;

  private:
    void add(Collective collective, std::string name, std::vector<Write> writes, Scope scope,
             std::string_view parameters);

    std::string implementation_;
    std::vector<uint32_t> version_;
    std::vector<Candidate> candidates_;
};

template <class Usable> void Catalogue::keep(Usable&& usable) {
    std::vector<Candidate> kept;
    std::vector<int32_t> moved(candidates_.size(), -1);
    for (size_t at = 0; at < candidates_.size(); ++at) {
        Candidate& one = candidates_[at];
        const bool orphan = one.parent >= 0 && moved[size_t(one.parent)] < 0;
        if (one.kind != Kind::library && (orphan || !usable(one, uint32_t(at))))
            continue;
        moved[at] = int32_t(kept.size());
        if (one.parent >= 0)
            one.parent = moved[size_t(one.parent)];
        kept.push_back(std::move(one));
    }
    candidates_ = std::move(kept);
}

}  // namespace mpiric::tune
