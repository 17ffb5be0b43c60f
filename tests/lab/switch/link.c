#include "link.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

enum { WIRE_OVERHEAD_BYTES = 24 };

nanoseconds time_on_wire(const struct line_quality* quality, size_t ethernet_bytes) {
    return (nanoseconds)((double)(ethernet_bytes + WIRE_OVERHEAD_BYTES) * quality->ns_per_byte);
}

nanoseconds sent(struct link* sender, nanoseconds now, nanoseconds wire_time) {
    nanoseconds begins = sender->upstream_free > now ? sender->upstream_free : now;
    sender->upstream_free = begins + wire_time;
    return sender->upstream_free;
}

void forward(struct link* receiver, const struct line_quality* quality, const unsigned char* data,
             size_t bytes, nanoseconds left_sender, nanoseconds wire_time) {
    if (receiver->queued_bytes + bytes > quality->queue_bytes)
        return;
    struct frame* frame = malloc(sizeof *frame + bytes);
    if (frame == NULL)
        err(1, "malloc");
    nanoseconds earliest = receiver->downstream_free + wire_time;
    frame->due = left_sender + quality->delay;
    if (frame->due < earliest)
        frame->due = earliest;
    receiver->downstream_free = frame->due;
    frame->bytes = bytes;
    frame->next = NULL;
    memcpy(frame->data, data, bytes);
    if (receiver->last)
        receiver->last->next = frame;
    else
        receiver->first = frame;
    receiver->last = frame;
    receiver->queued_bytes += bytes;
}

struct frame* take_due(struct link* receiver, nanoseconds now) {
    struct frame* frame = receiver->first;
    if (frame == NULL || frame->due > now)
        return NULL;
    receiver->first = frame->next;
    if (receiver->first == NULL)
        receiver->last = NULL;
    receiver->queued_bytes -= frame->bytes;
    return frame;
}
