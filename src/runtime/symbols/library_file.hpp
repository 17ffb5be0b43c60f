// Names that a shared library defines and needs, read from its file: it need not be loaded.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpiric::symbols {

class LibraryFile {
  public:
    explicit LibraryFile(const char* path) noexcept;
    ~LibraryFile();
    LibraryFile(const LibraryFile&) = delete;
    LibraryFile& operator=(const LibraryFile&) = delete;

    /// Whether it is a shared library whose symbol table is within the file.
    bool readable() const noexcept { return symbols_ != nullptr; }
    bool defines(const char* name) const noexcept;
    /// Whether it cannot be loaded unless another library defines the name.
    bool refers_strongly(const char* name) const noexcept;
    /// The first library it needs whose name begins so; null when there is none.
    const char* needs(const char* beginning) const noexcept;
    /// Whether it says itself where to look for those, before the environment does.
    bool has_rpath() const noexcept;

  private:
    const std::byte* file_ = nullptr;
    size_t bytes_ = 0;
    const void* symbols_ = nullptr;
    size_t count_ = 0;
    const char* names_ = nullptr;
    size_t names_bytes_ = 0;
    const void* dynamic_ = nullptr;
    size_t dynamic_count_ = 0;
};

}  // namespace mpiric::symbols
