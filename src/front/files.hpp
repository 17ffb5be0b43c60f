// Whole files, and a directory of one's own.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mpiric::front {

std::optional<std::string> read_file(const std::string& path);
std::optional<std::string> read_descriptor(int file);

// Writes a file whole; on failure there is none.
bool write_file(const std::string& path, std::string_view contents);

// The program that a shell would start for `name`; "" when there is none.
std::string find_program(const std::string& name);

// A scratch directory, gone with everything in it at the end; `path` is "" when none could be made.
class Scratch {
  public:
    Scratch();
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    const std::string& path() const { return path_; }
    bool make_directory(const std::string& name) const;

  private:
    std::string path_;
};

}  // namespace mpiric::front
