#include "servers.hpp"

#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <map>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace lab {
namespace {

int64_t take(std::atomic<int64_t>& free, double us) {
    const auto length = int64_t(us * 1e3);
    int64_t before = free.load();
    int64_t over = 0;
    do {
        const int64_t now = now_ns();
        over = (before > now ? before : now) + length;
    } while (!free.compare_exchange_weak(before, over));
    return over;
}

}  // namespace

int64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

void sleep_until(int64_t ns) {
    const timespec until{time_t(ns / 1'000'000'000), long(ns % 1'000'000'000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
}

bool set(Settings& settings, const std::string& word) {
    const auto equals = word.find('=');
    const std::map<std::string, double*> numbers = {
        {"bandwidth", &settings.bytes_per_us}, {"latency", &settings.target_us},
        {"lock", &settings.lock_us},           {"metadata", &settings.metadata_us},
        {"directory", &settings.directory_us}, {"glimpse", &settings.glimpse_us},
    };
    if (equals == std::string::npos)
        return false;
    const std::string name = word.substr(0, equals);
    const double value = std::stod(word.substr(equals + 1));
    if (name == "targets")
        settings.targets = int(value);
    else if (name == "dirty")
        settings.dirty_bytes = int64_t(value);
    else if (const auto at = numbers.find(name); at != numbers.end())
        *at->second = value;
    else
        return false;
    return settings.targets > 0 && settings.targets <= 256;
}

Servers::Servers(const std::string& path, const Settings& settings) : settings_(settings) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(Shared)) != 0)
        throw std::system_error(errno, std::generic_category(), path);
    void* at = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED)
        throw std::system_error(errno, std::generic_category(), path);
    close(file);
    shared_ = static_cast<Shared*>(at);  // zeros are queues that are free
}

int64_t Servers::transfer(int target, uint64_t object, int64_t bytes, uint32_t writer, double slower) {
    double us = (settings_.target_us + double(bytes) / settings_.bytes_per_us) * slower;
    if (writer) {
        const uint32_t owner = shared_->owner[object % locks].exchange(writer);
        if (owner && owner != writer)
            us += settings_.lock_us;
    }
    return take(shared_->target_free[target % most_targets], us);
}

int64_t Servers::metadata() { return take(shared_->metadata_free, settings_.metadata_us); }

int64_t Servers::change_directory(uint64_t directory) {
    return take(shared_->directory_free[directory % locks], settings_.directory_us);
}

int64_t Servers::glimpse(int objects) {
    return take(shared_->metadata_free, settings_.metadata_us + settings_.glimpse_us * objects);
}

void Servers::wrote(uint64_t file, int64_t over) {
    std::atomic<int64_t>& safe = shared_->safe[file % locks];
    int64_t before = safe.load();
    while (before < over && !safe.compare_exchange_weak(before, over)) {
    }
}

int64_t Servers::safe_at(uint64_t file) const { return shared_->safe[file % locks].load(); }

int Servers::next_target(int count) {
    return int(shared_->next.fetch_add(uint32_t(count)) % uint32_t(settings_.targets));
}

}  // namespace lab
