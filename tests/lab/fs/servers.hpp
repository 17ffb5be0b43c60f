// The servers that all clients of one lab file system share: queues in a mapped file.
//
// A request to a target lasts a latency and its bytes over the bandwidth, and begins when the one before it
// is over. The metadata server is one more queue. A write to an object that another client wrote last waits
// for its lock to travel. Times are of CLOCK_MONOTONIC, which all processes of a machine share.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace lab {

struct Settings {
    int targets = 8;
    double bytes_per_us = 5;  // bandwidth of a target in MB/s
    double target_us = 300, lock_us = 2000, metadata_us = 200, directory_us = 300, glimpse_us = 40;
    int64_t dirty_bytes = 8 << 20;  // limit of unwritten data per client
};

/// `name=value` of one setting; false for a name that there is not.
bool set(Settings& settings, const std::string& word);

class Servers {
  public:
    /// Maps the queues, made where they are not there; throws std::system_error.
    Servers(const std::string& path, const Settings& settings);

    /// Queue a request; the time at which it is over.
    int64_t transfer(int target, uint64_t object, int64_t bytes, uint32_t writer, double slower);
    int64_t metadata();
    int64_t change_directory(uint64_t directory);
    int64_t glimpse(int objects);
    int next_target(int count);

    /// Records the time at which all data of a file, from any client, is on the targets.
    void wrote(uint64_t file, int64_t over);
    int64_t safe_at(uint64_t file) const;

  private:
    static constexpr int most_targets = 256, locks = 4096;
    struct Shared {
        std::atomic<int64_t> target_free[most_targets];
        std::atomic<int64_t> metadata_free;
        std::atomic<int64_t> directory_free[locks];
        std::atomic<uint32_t> owner[locks];  // client that wrote an object last
        std::atomic<int64_t> safe[locks];
        std::atomic<uint32_t> next;
    };
    Shared* shared_;
    Settings settings_;
};

int64_t now_ns();
void sleep_until(int64_t ns);

}  // namespace lab
