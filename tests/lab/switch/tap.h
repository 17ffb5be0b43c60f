/* TAP devices: a network interface of a host whose frames come out of a file descriptor. */
#ifndef LAB_TAP_H
#define LAB_TAP_H

enum { MAC_BYTES = 6 };

enum segmentation { PLAIN_FRAMES, SUPER_FRAMES };

struct tap_request {
    const char* network_namespace; /* path of /proc/PID/ns/net */
    const char* interface;
    const unsigned char* mac;
    int mtu;
    enum segmentation segmentation;
};

/* Makes the interface in that namespace; returns its descriptor. Ends the program with the reason otherwise.
 */
int open_tap(const struct tap_request* request);

#endif
