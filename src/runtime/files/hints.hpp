// Hints of MPI-IO that the program does not give itself, and those in force, read back.
#pragma once

#include "world/library.hpp"

namespace mpiric::files {

/// The info object to open a file with: the program's own, or a copy of it with the hints of the file's rule.
/// The program's own keys win.
class HintedInfo {
  public:
    HintedInfo(const char* path, MPI_Info own) noexcept;
    ~HintedInfo();
    HintedInfo(const HintedInfo&) = delete;
    HintedInfo& operator=(const HintedInfo&) = delete;

    MPI_Info info() const noexcept { return info_; }

  private:
    MPI_Info info_;
    bool copied_ = false;
};

/// While recording, rank 0 of the file's communicator writes the hints in force into `hints.<world rank>` of
/// the record's directory: a line `file PATH`, then `KEY VALUE` each; of the first files it opens only.
void note_hints(MPI_File file, const char* path, MPI_Comm comm) noexcept;

}  // namespace mpiric::files
