#include "traffic.hpp"

#include "addresses.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <set>
#include <sstream>
#include <string_view>
#include <sys/socket.h>

namespace mpiric::probes {
namespace {

namespace fs = std::filesystem;

constexpr Bytes counter_unit_bytes = 4;  // unit of port_xmit_data: the InfiniBand specification counts words

Bytes number_in(const fs::path& file) {
    Bytes number = 0;
    std::ifstream{file} >> number;
    return number;
}

void add_interfaces(std::map<std::string, Bytes>& devices) {
    std::ifstream table{"/proc/self/net/dev"};  // interfaces of the network name space of this process
    for (std::string line; std::getline(table, line);) {
        const auto colon = line.find(':');
        if (colon == std::string::npos) {
            continue;
        }
        const auto begin = line.find_first_not_of(' ');
        std::istringstream numbers{line.substr(colon + 1)};
        Bytes value = 0;
        for (int column = 0; column < 9; ++column) {  // eight columns about receiving, then bytes sent
            numbers >> value;
        }
        devices[line.substr(begin, colon - begin)] = value;
    }
}

// InfiniBand, Omni-Path and RoCE count words in `counters`, EFA counts bytes in `hw_counters`.
void add_adapters(std::map<std::string, Bytes>& devices) {
    std::error_code ignored;
    for (const auto& adapter : fs::directory_iterator{"/sys/class/infiniband", ignored}) {
        Bytes bytes = 0;
        for (const auto& port : fs::directory_iterator{adapter.path() / "ports", ignored}) {
            bytes += number_in(port.path() / "counters/port_xmit_data") * counter_unit_bytes;
            bytes += number_in(port.path() / "hw_counters/tx_bytes");
        }
        devices[adapter.path().filename().string()] = bytes;
    }
}

// Bytes that the other side has acknowledged, which only the owner of a socket may query.
void add_socket(int descriptor, std::map<std::string, Bytes>& sockets) {
    tcp_info facts{};
    socklen_t size = sizeof facts;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &facts, &size) != 0 ||
        size < offsetof(tcp_info, tcpi_bytes_acked) + sizeof facts.tcpi_bytes_acked) {
        return;
    }
    const std::string address = own_address(descriptor);
    if (!address.empty()) {
        sockets[address] += static_cast<Bytes>(facts.tcpi_bytes_acked);
    }
}

std::map<std::string, Bytes> grown(const std::map<std::string, Bytes>& before,
                                   const std::map<std::string, Bytes>& now) {
    std::map<std::string, Bytes> growth;
    for (const auto& [name, bytes] : now) {
        const auto earlier = before.find(name);
        const Bytes more = bytes - (earlier == before.end() ? 0 : earlier->second);
        if (more > 0) {
            growth[name] = more;
        }
    }
    return growth;
}

}  // namespace

Traffic traffic_now() {
    Traffic traffic;
    add_interfaces(traffic.devices);
    add_adapters(traffic.devices);
    std::error_code ignored;
    std::vector<int> descriptors;
    for (const auto& entry : fs::directory_iterator{"/proc/self/fd", ignored}) {
        const std::string name = entry.path().filename().string();
        int descriptor = -1;
        std::from_chars(name.data(), name.data() + name.size(), descriptor);
        descriptors.push_back(descriptor);
    }
    for (const int descriptor : descriptors) {
        add_socket(descriptor, traffic.sockets);
    }
    return traffic;
}

Traffic since(const Traffic& before, const Traffic& now) {
    return {.devices = grown(before.devices, now.devices), .sockets = grown(before.sockets, now.sockets)};
}

std::vector<std::string> shared_memory() {
    std::set<std::string> kinds;
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);) {
        const auto space = line.find(' ');
        if (space == std::string::npos || line.size() < space + 5 || line[space + 4] != 's') {
            continue;
        }
        const auto slash = line.find('/');
        const std::string_view path =
            slash == std::string::npos ? std::string_view{} : std::string_view{line}.substr(slash);
        if (path.starts_with("/SYSV")) {
            kinds.insert("System V");
        } else if (path.starts_with("/memfd:")) {
            kinds.insert("memfd");
        } else if (path.starts_with("/dev/shm/")) {
            kinds.insert("/dev/shm");
        } else if (!path.empty() && !path.starts_with("/dev/") && !path.starts_with("/sys/")) {
            kinds.insert("file");
        }
    }
    return {kinds.begin(), kinds.end()};
}

}  // namespace mpiric::probes
