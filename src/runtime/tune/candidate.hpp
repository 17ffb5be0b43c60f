// The candidates among which a choice is made, by name: the library's algorithms and ours.
#pragma once

#include "base/collective.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mpiric::tune {

/// A control variable of the library and its value.
struct Write {
    std::string variable, value;

    /// Whether the variable ranks components of the library. Open MPI 4.1 lets nobody write that one, and
    /// ranks the component of the other variables first anyway.
    bool orders_components() const noexcept { return variable.ends_with("_priority"); }
};

enum class Kind : uint8_t {
    library,   ///< the library's own default
    switched,  ///< an algorithm of the library, selected by control variables
    own        ///< an algorithm of ours
};

/// Scope of control variables: the process, or communicators that are made after the write.
enum class Scope : uint8_t { process, communicator };

struct Candidate {
    Collective collective{};
    Kind kind = Kind::library;
    std::string name;  ///< name in policies
    std::vector<Write> writes;
    Scope scope = Scope::process;  ///< scope of the writes
    int32_t parent = -1;           ///< index of the candidate of which this is a variant; -1: none
    bool worth_trying = true;      ///< false: only a policy chooses it
};

/// An MPI library: its implementation, as the files of spec/candidates are named, and its version.
struct Library {
    std::string implementation;  ///< empty: unknown
    std::vector<uint32_t> version;

    uint32_t major() const noexcept { return version.empty() ? 0 : version[0]; }
    std::string version_text() const;
};

/// Recognises a library by the text of MPI_Get_library_version.
Library library_of(std::string_view text);

class Catalogue {
  public:
    Catalogue() = default;
    /// Lists the library's own algorithms. For each collective its default comes first.
    explicit Catalogue(const Library& library);

    /// Adds an algorithm of ours.
    void add_own(Collective collective, std::string_view name);

    /// Index of the candidate of that name; -1 when it is not there.
    int32_t index_of(Collective collective, std::string_view name) const;
    /// Index of the candidate of that name, added with its parameters when it is new; -1: no such algorithm.
    int32_t find(Collective collective, std::string_view name);

    const Candidate& operator[](uint32_t at) const noexcept { return candidates_[at]; }
    uint32_t size() const noexcept { return uint32_t(candidates_.size()); }
    /// Candidates of a collective that are worth trying, the library's default first.
    std::vector<uint32_t> of(Collective collective) const;

  private:
    void add(Collective collective, std::string name, std::vector<Write> writes, Scope scope,
             std::string_view parameters);

    std::string implementation_;
    std::vector<uint32_t> version_;
    std::vector<Candidate> candidates_;
};

}  // namespace mpiric::tune
