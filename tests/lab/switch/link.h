/* The cable between a host and the switch: when a frame has left its sender, when it reaches its receiver. */
#ifndef LAB_LINK_H
#define LAB_LINK_H

#include <stddef.h>
#include <stdint.h>

typedef int64_t nanoseconds;

struct frame {
    nanoseconds due;
    size_t bytes;
    struct frame* next;
    unsigned char data[];
};

struct line_quality {
    nanoseconds delay;
    double ns_per_byte;
    size_t queue_bytes; /* that wait for a receiver at the most; what comes on top is lost */
};

struct link {
    nanoseconds upstream_free;   /* when the host's sending side has sent all it was given */
    nanoseconds downstream_free; /* when its receiving side has received all that is queued */
    size_t queued_bytes;
    struct frame* first;
    struct frame* last;
};

/* Time that this many bytes take on the wire, preamble, checksum and gap included. */
nanoseconds time_on_wire(const struct line_quality* quality, size_t ethernet_bytes);

/* Takes note of a frame that the host sends at `now`; returns when its last bit has left. */
nanoseconds sent(struct link* sender, nanoseconds now, nanoseconds wire_time);

/* Queues a copy for a receiver. Cut-through: alone on the line, a frame pays its time on the wire once. */
void forward(struct link* receiver, const struct line_quality* quality, const unsigned char* data,
             size_t bytes, nanoseconds left_sender, nanoseconds wire_time);

/* Removes the first frame if it is due; the caller frees it. NULL otherwise. */
struct frame* take_due(struct link* receiver, nanoseconds now);

#endif
