// Files on a file system that refuses layouts: it is asked once by each rule, and files are made without
// them.
#include <doctest/doctest.h>

#include "layouts/layouts.hpp"
#include "posix/posix.hpp"
#include "profile/context.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace mpiric;
namespace fs = std::filesystem;

namespace {

std::atomic<int> opens{0}, stats{0}, others{0};

long counted(long number, ...) {
    va_list words;
    va_start(words, number);
    long arguments[5];
    for (long& argument : arguments)
        argument = va_arg(words, long);
    va_end(words);
    ++(number == SYS_openat ? opens : number == SYS_newfstatat ? stats : others);
    return syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]);
}

struct Directory {
    Directory() {
        char name[] = "/tmp/mpiric-layouts-XXXXXX";
        path = mkdtemp(name);
        fs::current_path(path);
        runtime.options.file_layouts = "a.* 4x1048576;b.* 2x1048576";
        opens = stats = others = 0;
    }
    ~Directory() {
        fs::current_path("/");
        fs::remove_all(path);
    }
    fs::path path;
};

bool make(const std::string& name) { return layouts::make_laid_out(AT_FDCWD, name.c_str(), 0644); }

}  // namespace

/// In the runtime the next definition after it; here the system calls are counted.
void* mpiric::libc_posix(uint32_t) noexcept { return reinterpret_cast<void*>(&counted); }

TEST_CASE(
    "a file system that has no layouts is asked once by each rule, whatever directory files are made in") {
    const Directory directory;
    fs::create_directory("out");
    errno = 7;
    CHECK_FALSE(make("a.\n0"));
    CHECK(opens == 1);
    CHECK_FALSE(make("out/b.0"));
    CHECK(opens == 2);
    others = stats = 0;
    for (int file = 1; file < 100; ++file)
        CHECK_FALSE(make((file % 2 ? "out/a." : "b.") + std::to_string(file)));
    CHECK(opens == 2);
    CHECK(stats == 99);
    CHECK(others == 0);
    CHECK(errno == 7);
    CHECK(fs::is_empty("out"));
    CHECK_FALSE(fs::exists("a.\n0"));
}

TEST_CASE("a file that no rule means costs no system call") {
    const Directory directory;
    CHECK_FALSE(make("c.0"));
    CHECK_FALSE(layouts::make_laid_out(AT_FDCWD, nullptr, 0644));
    CHECK(opens + stats + others == 0);
}

TEST_CASE("a refusal holds for one file system and one rule") {
    layouts::RefusedLayouts refused;
    const std::string_view rules = "a.* 4x1048576;b.* 2x1048576", first = rules.substr(4, 9),
                           second = rules.substr(18, 9);
    CHECK_FALSE(refused.has_any());
    refused.add(5, first, rules);
    CHECK(refused.has_any());
    CHECK(refused.has(5, first, rules));
    CHECK_FALSE(refused.has(5, second, rules));
    CHECK_FALSE(refused.has(6, first, rules));
}

TEST_CASE("threads may hear refusals at once, and the latest are kept") {
    layouts::RefusedLayouts refused;
    const std::string_view rules = "a.* 4x1048576", words = rules.substr(4);
    std::vector<std::thread> threads;
    for (dev_t thread = 1; thread <= 4; ++thread)
        threads.emplace_back([&refused, words, rules, thread] {
            for (dev_t at = 0; at < 100; ++at)
                refused.add(thread * 1000 + at, words, rules);
        });
    for (std::thread& thread : threads)
        thread.join();
    for (dev_t at = 0; at < 32; ++at)
        refused.add(at + 1, words, rules);
    for (dev_t at = 0; at < 32; ++at)
        CHECK(refused.has(at + 1, words, rules));
    CHECK_FALSE(refused.has(1000, words, rules));
}

TEST_CASE("only what holds for the next file too is a lasting refusal") {
    for (const int error : {EOPNOTSUPP, EPERM, EACCES, EINVAL})
        CHECK(layouts::RefusedLayouts::lasts(error));
    for (const int error : {ENOSPC, EDQUOT, EIO, EROFS, EINTR})
        CHECK_FALSE(layouts::RefusedLayouts::lasts(error));
}
