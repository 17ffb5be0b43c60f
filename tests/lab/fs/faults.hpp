// Faults on demand: lines of a file, read anew whenever it changes.
//
//     full 3        writes to objects on target 3 fail with ENOSPC
//     quota         writes fail with EDQUOT
//     error         reads and writes fail with EIO
//     nolayouts     layouts are set with EPERM
//     noflock       flock fails with ENOTSUP
//     slow 10       targets take ten times as long
//     hung          reads and writes wait until this line is gone
#pragma once

#include <cstdint>
#include <ctime>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace lab {

struct Faults {
    std::set<uint32_t> full = {};
    bool quota = false, error = false, no_flock = false, no_layouts = false, hung = false;
    double slower = 1;
};

class FaultFile {
  public:
    explicit FaultFile(std::string path) : path_(std::move(path)) {}
    Faults now();
    /// 0, or the errno of an access to objects on these targets; waits while the servers hang.
    int access(const std::vector<uint32_t>& targets, bool write);

  private:
    std::string path_;
    std::mutex mutex_;
    timespec changed_{};
    Faults faults_;
};

}  // namespace lab
