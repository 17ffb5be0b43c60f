/* An Ethernet switch in user space with a fixed delay and a rate for each host's link, for kernels without
 * netem.
 *
 *   switch [-d DELAY_US] [-r RATE_MBIT] [-m MTU] [-q QUEUE_KIB] [-g] INTERFACE NAMESPACE,MAC...
 *
 * Makes a TAP device INTERFACE in each network namespace and carries frames between them. A host that sends
 * faster than its link is held back (its own queue fills, nothing is lost); a receiver's queue drops what
 * does not fit. -g lets hosts send TCP segments of up to 64 KiB in one piece. Prints "ready" when all
 * interfaces are there. */
#define _GNU_SOURCE
#include <err.h>
#include <linux/virtio_net.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "link.h"
#include "tap.h"

enum {
    MOST_PORTS = 64,
    LARGEST_FRAME_BYTES = 65536 + 64,
    FRAMES_AT_ONCE = 64, /* from one port before the others get their turn */
    ETHERNET_HEADER_BYTES = 14,
};

static const nanoseconds AHEAD = 200000; /* a host may be this far ahead of its link before it is held back */
static const nanoseconds RESUME = 100000;

struct port {
    int fd;
    unsigned char mac[MAC_BYTES];
    struct link link;
    int held; /* not read from, because its link is busy */
};

struct ethernet_switch {
    struct port ports[MOST_PORTS];
    int port_count;
    struct line_quality quality;
    int epoll;
    int timer;
};

static nanoseconds now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void listen_to(struct ethernet_switch* self, int port, uint32_t events) {
    struct epoll_event event = {.events = events, .data.u32 = (uint32_t)port};
    if (epoll_ctl(self->epoll, EPOLL_CTL_MOD, self->ports[port].fd, &event))
        err(1, "epoll_ctl");
}

static int port_with(const struct ethernet_switch* self, const unsigned char* mac) {
    for (int port = 0; port < self->port_count; port++)
        if (memcmp(self->ports[port].mac, mac, MAC_BYTES) == 0)
            return port;
    return -1; /* also for broadcast */
}

static void carry(struct ethernet_switch* self, int from, const unsigned char* data, size_t bytes,
                  nanoseconds time) {
    const unsigned char* ethernet = data + sizeof(struct virtio_net_hdr);
    size_t ethernet_bytes = bytes - sizeof(struct virtio_net_hdr);
    nanoseconds wire_time = time_on_wire(&self->quality, ethernet_bytes);
    nanoseconds left = sent(&self->ports[from].link, time, wire_time);
    int only = port_with(self, ethernet);
    for (int to = 0; to < self->port_count; to++)
        if (only >= 0 ? to == only : to != from)
            forward(&self->ports[to].link, &self->quality, data, bytes, left, wire_time);
}

static void read_from(struct ethernet_switch* self, int from) {
    static unsigned char data[LARGEST_FRAME_BYTES];
    struct port* port = &self->ports[from];
    for (int count = 0; count < FRAMES_AT_ONCE; count++) {
        nanoseconds time = now();
        if (port->link.upstream_free > time + AHEAD) {
            port->held = 1;
            listen_to(self, from, 0);
            return;
        }
        ssize_t bytes = read(port->fd, data, sizeof data);
        if (bytes <= 0)
            return;
        if (bytes >= (ssize_t)(sizeof(struct virtio_net_hdr) + ETHERNET_HEADER_BYTES))
            carry(self, from, data, (size_t)bytes, time);
    }
}

static nanoseconds earlier(nanoseconds first, nanoseconds second) {
    return first == 0 || (second != 0 && second < first) ? second : first;
}

/* Reads again from ports whose links are free; returns when the next one will be, 0 for none. */
static nanoseconds resume(struct ethernet_switch* self) {
    nanoseconds next = 0;
    for (int i = 0; i < self->port_count; i++) {
        struct port* port = &self->ports[i];
        if (port->held && port->link.upstream_free <= now() + RESUME) {
            port->held = 0;
            listen_to(self, i, EPOLLIN);
            read_from(self, i);
        }
        if (port->held)
            next = earlier(next, port->link.upstream_free - RESUME);
    }
    return next;
}

/* Hands over what is due; returns when the next frame will be, 0 for none. */
static nanoseconds deliver(struct ethernet_switch* self) {
    nanoseconds next = 0;
    for (int i = 0; i < self->port_count; i++) {
        struct port* port = &self->ports[i];
        struct frame* frame;
        while ((frame = take_due(&port->link, now())) != NULL) {
            /* A host whose interface is down takes nothing: the frame is lost, as on a cable pulled out. */
            if (write(port->fd, frame->data, frame->bytes) < 0) {
            }
            free(frame);
        }
        if (port->link.first)
            next = earlier(next, port->link.first->due);
    }
    return next;
}

static void run(struct ethernet_switch* self) {
    struct epoll_event events[MOST_PORTS + 1];
    for (;;) {
        int count = epoll_wait(self->epoll, events, MOST_PORTS + 1, -1);
        for (int i = 0; i < count; i++) {
            uint32_t port = events[i].data.u32;
            uint64_t expirations;
            if (port < MOST_PORTS && events[i].events & EPOLLIN)
                read_from(self, (int)port);
            else if (port == MOST_PORTS && read(self->timer, &expirations, sizeof expirations) < 0)
                continue;
        }
        nanoseconds readable = resume(self);
        nanoseconds next = earlier(readable, deliver(self));
        struct itimerspec at = {.it_value = {next / 1000000000, next % 1000000000}}; /* 0 disarms */
        timerfd_settime(self->timer, TFD_TIMER_ABSTIME, &at, NULL);
    }
}

static void watch(struct ethernet_switch* self, int fd, int as) {
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)as};
    if (epoll_ctl(self->epoll, EPOLL_CTL_ADD, fd, &event))
        err(1, "epoll_ctl");
}

static void add_port(struct ethernet_switch* self, char* place, struct tap_request request) {
    struct port* port = &self->ports[self->port_count];
    char* comma = strchr(place, ',');
    unsigned char* mac = port->mac;
    if (comma == NULL || sscanf(comma + 1, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", mac, mac + 1, mac + 2, mac + 3,
                                mac + 4, mac + 5) != MAC_BYTES)
        errx(2, "not NAMESPACE,MAC: %s", place);
    *comma = '\0';
    request.network_namespace = place;
    request.mac = mac;
    port->fd = open_tap(&request);
    watch(self, port->fd, self->port_count++);
}

/* Exact timing needs to be woken at once and never to wait for a page. Neither is always allowed. */
static void be_punctual(void) {
    struct sched_param first = {.sched_priority = 10};
    prctl(PR_SET_TIMERSLACK, 1);
    if (mlockall(MCL_CURRENT | MCL_FUTURE) || sched_setscheduler(0, SCHED_FIFO, &first))
        warn("delays will be less exact");
}

int main(int argc, char** argv) {
    struct ethernet_switch self = {.quality = {.delay = 0, .ns_per_byte = 8, .queue_bytes = 1 << 20}};
    struct tap_request request = {.mtu = 1500, .segmentation = PLAIN_FRAMES};
    int option;
    while ((option = getopt(argc, argv, "d:r:q:m:g")) != -1) {
        switch (option) {
        case 'd':
            self.quality.delay = (nanoseconds)(atof(optarg) * 1000);
            break;
        case 'r':
            self.quality.ns_per_byte = 8000 / atof(optarg);
            break;
        case 'q':
            self.quality.queue_bytes = (size_t)atol(optarg) * 1024;
            break;
        case 'm':
            request.mtu = atoi(optarg);
            break;
        case 'g':
            request.segmentation = SUPER_FRAMES;
            break;
        default:
            return 2;
        }
    }
    if (argc - optind < 2 || argc - optind - 1 > MOST_PORTS)
        errx(2, "INTERFACE and 1 to %d NAMESPACE,MAC are needed", MOST_PORTS);
    self.epoll = epoll_create1(EPOLL_CLOEXEC);
    self.timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    watch(&self, self.timer, MOST_PORTS);
    request.interface = argv[optind++];
    while (optind < argc)
        add_port(&self, argv[optind++], request);
    be_punctual();
    puts("ready");
    fflush(stdout);
    fclose(stdout);
    run(&self);
}
