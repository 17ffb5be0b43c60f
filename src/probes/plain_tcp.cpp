#include "plain_tcp.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <chrono>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace mpiric::probes {
namespace {

constexpr int patience_ms = 3000;  // time limit to connect, and for the next bytes
constexpr std::size_t largest_message = std::size_t{64} << 20;

void make_ready(int descriptor) {
    const int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const timeval patience{.tv_sec = patience_ms / 1000, .tv_usec = 0};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

sockaddr_in address_of(std::uint32_t address, std::uint16_t port) {
    sockaddr_in made{};
    made.sin_family = AF_INET;
    made.sin_addr.s_addr = htonl(address);
    made.sin_port = htons(port);
    return made;
}

bool receive(int descriptor, void* bytes, std::size_t size) {
    auto* next = static_cast<char*>(bytes);
    while (size > 0) {
        const ssize_t count = recv(descriptor, next, size, 0);
        if (count <= 0) {
            return false;
        }
        next += count;
        size -= static_cast<std::size_t>(count);
    }
    return true;
}

bool send_all(int descriptor, const void* bytes, std::size_t size) {
    const auto* next = static_cast<const char*>(bytes);
    while (size > 0) {
        const ssize_t count = send(descriptor, next, size, MSG_NOSIGNAL);
        if (count <= 0) {
            return false;
        }
        next += count;
        size -= static_cast<std::size_t>(count);
    }
    return true;
}

bool wait_for(int descriptor, short what) {
    pollfd polled{.fd = descriptor, .events = what, .revents = 0};
    return poll(&polled, 1, patience_ms) == 1 && (polled.revents & what) != 0;
}

double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Listener listen_everywhere() {
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in own = address_of(INADDR_ANY, 0);
    socklen_t size = sizeof own;
    if (descriptor < 0 || bind(descriptor, reinterpret_cast<sockaddr*>(&own), size) != 0 ||
        listen(descriptor, 1) != 0 ||
        getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size) != 0) {
        return {.descriptor = -1, .port = 0};
    }
    return {.descriptor = descriptor, .port = ntohs(own.sin_port)};
}

void serve(const Listener& listener) {
    if (listener.descriptor < 0 || !wait_for(listener.descriptor, POLLIN)) {
        return;
    }
    const int descriptor = accept(listener.descriptor, nullptr, nullptr);
    if (descriptor < 0) {
        return;
    }
    make_ready(descriptor);
    std::vector<char> message;
    for (std::uint32_t size = 0; receive(descriptor, &size, sizeof size) && size <= largest_message;) {
        message.resize(size);
        if (!receive(descriptor, message.data(), size) || !send_all(descriptor, message.data(), size)) {
            break;
        }
    }
    close(descriptor);
}

Connection connect_from(std::uint32_t own, std::uint32_t peer, std::uint16_t port) {
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const sockaddr_in from = address_of(own, 0);
    const sockaddr_in to = address_of(peer, port);
    int error = 0;
    socklen_t size = sizeof error;
    const bool begun =
        descriptor >= 0 && bind(descriptor, reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0 &&
        (connect(descriptor, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 || errno == EINPROGRESS);
    if (!begun || !wait_for(descriptor, POLLOUT) ||
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
        if (descriptor >= 0) {
            close(descriptor);
        }
        return {.descriptor = -1};
    }
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
    make_ready(descriptor);
    return {.descriptor = descriptor};
}

double one_way_s(const Connection& connection, std::size_t size_bytes, double budget_s) {
    std::vector<char> message(sizeof(std::uint32_t) + size_bytes, 'm');
    const auto size = static_cast<std::uint32_t>(size_bytes);
    std::copy_n(reinterpret_cast<const char*>(&size), sizeof size, message.data());
    std::vector<double> times;
    const double end = now_s() + budget_s;
    while (times.size() < 3 || (now_s() < end && times.size() < 2000)) {
        const double start = now_s();
        if (!send_all(connection.descriptor, message.data(), message.size()) ||
            !receive(connection.descriptor, message.data() + sizeof size, size_bytes)) {
            return 0.0;
        }
        times.push_back((now_s() - start) / 2);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

void hang_up(const Connection& connection) {
    if (connection.descriptor >= 0) {
        close(connection.descriptor);
    }
}

}  // namespace mpiric::probes
