#include "addresses.hpp"

#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace mpiric::probes {
namespace {

std::uint32_t number_of(const sockaddr* address) {
    sockaddr_in found{};
    std::memcpy(&found, address, sizeof found);
    return ntohl(found.sin_addr.s_addr);
}

}  // namespace

std::vector<Interface> interfaces() {
    std::vector<Interface> found;
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) {
        return found;
    }
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        const bool usable = (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_LOOPBACK) == 0;
        if (usable && entry->ifa_addr != nullptr && entry->ifa_netmask != nullptr &&
            entry->ifa_addr->sa_family == AF_INET) {
            found.push_back({entry->ifa_name, number_of(entry->ifa_addr), number_of(entry->ifa_netmask)});
        }
    }
    freeifaddrs(list);
    return found;
}

std::string own_address(int descriptor) {
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size) != 0) {
        return "";
    }
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* const bytes =
        own.ss_family == AF_INET
            ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(&own)->sin_addr)
            : static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(&own)->sin6_addr);
    if ((own.ss_family != AF_INET && own.ss_family != AF_INET6) ||
        inet_ntop(own.ss_family, bytes, text.data(), text.size()) == nullptr) {
        return "";
    }
    constexpr const char* mapped = "::ffff:";  // an IPv4 connection of an IPv6 socket
    const std::string address = text.data();
    return address.starts_with(mapped) ? address.substr(std::strlen(mapped)) : address;
}

std::string dotted(std::uint32_t address) {
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8) {
        text += (text.empty() ? "" : ".") + std::to_string(address >> shift & 0xff);
    }
    return text;
}

}  // namespace mpiric::probes
