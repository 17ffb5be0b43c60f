#define _GNU_SOURCE
#include "tap.h"

#include <err.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if_arp.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int open_or_end(const char* path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        err(1, "%s", path);
    return fd;
}

static struct ifreq request_for(const char* interface) {
    struct ifreq request;
    memset(&request, 0, sizeof request);
    strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
    return request;
}

static int create(const struct tap_request* wanted) {
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        err(1, "/dev/net/tun");
    struct ifreq request = request_for(wanted->interface);
    request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
    if (ioctl(fd, TUNSETIFF, &request))
        err(1, "TUNSETIFF");
    int header_bytes = sizeof(struct virtio_net_hdr);
    if (ioctl(fd, TUNSETVNETHDRSZ, &header_bytes))
        err(1, "TUNSETVNETHDRSZ");
    /* Nothing here is ever damaged on the way, so checksums need not be computed. */
    unsigned offload = TUN_F_CSUM;
    if (wanted->segmentation == SUPER_FRAMES)
        offload |= TUN_F_TSO4 | TUN_F_TSO6;
    if (ioctl(fd, TUNSETOFFLOAD, offload))
        err(1, "TUNSETOFFLOAD");
    return fd;
}

static void configure(const struct tap_request* wanted) {
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (control < 0)
        err(1, "socket");
    struct ifreq request = request_for(wanted->interface);
    request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
    memcpy(request.ifr_hwaddr.sa_data, wanted->mac, MAC_BYTES);
    if (ioctl(control, SIOCSIFHWADDR, &request))
        err(1, "SIOCSIFHWADDR");
    request = request_for(wanted->interface);
    request.ifr_mtu = wanted->mtu;
    if (ioctl(control, SIOCSIFMTU, &request))
        err(1, "SIOCSIFMTU");
    close(control);
}

int open_tap(const struct tap_request* wanted) {
    int own = open_or_end("/proc/self/ns/net");
    int theirs = open_or_end(wanted->network_namespace);
    if (setns(theirs, CLONE_NEWNET))
        err(1, "setns");
    int fd = create(wanted);
    configure(wanted);
    if (setns(own, CLONE_NEWNET))
        err(1, "setns back");
    close(own);
    close(theirs);
    return fd;
}
