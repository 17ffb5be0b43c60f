#include "process.hpp"

#include <array>
#include <cstdio>
#include <fstream>
#include <sched.h>
#include <unistd.h>

namespace mpiric::probes {
namespace {

// The kernel rejects a mask shorter than its own; sixteen times CPU_SETSIZE exceeds all existing machines.
constexpr int mask_pus = 16 * CPU_SETSIZE;

class Mask {
  public:
    Mask() : set_{CPU_ALLOC(mask_pus)} { CPU_ZERO_S(bytes(), set_); }
    ~Mask() { CPU_FREE(set_); }
    Mask(const Mask&) = delete;
    Mask& operator=(const Mask&) = delete;

    cpu_set_t* set() { return set_; }
    static std::size_t bytes() { return CPU_ALLOC_SIZE(mask_pus); }

  private:
    cpu_set_t* set_;
};

}  // namespace

std::vector<int> allowed_pus() {
    Mask mask;
    std::vector<int> pus;
    if (sched_getaffinity(0, Mask::bytes(), mask.set()) != 0) {
        return pus;
    }
    for (int pu = 0; pu < mask_pus; ++pu) {
        if (CPU_ISSET_S(static_cast<std::size_t>(pu), Mask::bytes(), mask.set())) {
            pus.push_back(pu);
        }
    }
    return pus;
}

bool bind_to_pu(int pu) {
    if (pu < 0 || pu >= mask_pus) {
        return false;
    }
    Mask mask;
    CPU_SET_S(static_cast<std::size_t>(pu), Mask::bytes(), mask.set());
    return sched_setaffinity(0, Mask::bytes(), mask.set()) == 0;
}

std::string allowed_memory_nodes() {
    constexpr std::string_view field = "Mems_allowed_list:\t";
    std::ifstream status{"/proc/self/status"};
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(field)) {
            return line.substr(field.size());
        }
    }
    return "";
}

std::string host_name() {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    return name.data();
}

std::string json_text(std::string_view text) {
    std::string quoted = "\"";
    for (const char letter : text) {
        if (letter == '"' || letter == '\\') {
            quoted += '\\';
            quoted += letter;
        } else if (static_cast<unsigned char>(letter) < 0x20) {
            std::array<char, 8> escape{};
            std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(letter));
            quoted += escape.data();
        } else {
            quoted += letter;
        }
    }
    return quoted + '"';
}

std::string json_numbers(const std::vector<int>& numbers) {
    std::string list = "[";
    for (const int number : numbers) {
        list += (list.size() > 1 ? "," : "") + std::to_string(number);
    }
    return list + ']';
}

}  // namespace mpiric::probes
