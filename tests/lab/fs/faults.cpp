#include "faults.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace lab {

Faults FaultFile::now() {
    const std::scoped_lock lock(mutex_);
    struct stat facts{};
    if (stat(path_.c_str(), &facts) != 0) {
        changed_ = {};
        return faults_ = {};
    }
    if (facts.st_mtim.tv_sec == changed_.tv_sec && facts.st_mtim.tv_nsec == changed_.tv_nsec)
        return faults_;
    changed_ = facts.st_mtim;
    faults_ = {};
    std::ifstream file(path_);
    for (std::string word; file >> word;) {
        uint32_t target = 0;
        if (word == "full" && file >> target)
            faults_.full.insert(target);
        else if (word == "slow")
            file >> faults_.slower;
        faults_.quota |= word == "quota";
        faults_.error |= word == "error";
        faults_.no_layouts |= word == "nolayouts";
        faults_.no_flock |= word == "noflock";
        faults_.hung |= word == "hung";
    }
    return faults_;
}

int FaultFile::access(const std::vector<uint32_t>& targets, bool write) {
    Faults faults = now();
    for (; faults.hung; faults = now())
        usleep(20'000);
    if (faults.error)
        return EIO;
    if (write && faults.quota)
        return EDQUOT;
    const bool full =
        std::any_of(targets.begin(), targets.end(), [&](uint32_t t) { return faults.full.count(t); });
    return write && full ? ENOSPC : 0;
}

}  // namespace lab
