/* Requests that kvtrace-trace answers: some block devices by their numbers, and nothing else. */
#ifndef KVREPLAY_HELPER_REQUEST_H
#define KVREPLAY_HELPER_REQUEST_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/drive/block_events.h"

struct trace_request {
    unsigned devices;
    uint32_t device[BLOCK_EVENTS_DEVICES]; /* major << 20 | minor */
};
/*
 * Each argument: "MAJOR:MINOR", decimal, without signs, blanks or leading zeros, major from 1 to
 * 4095, minor to 1048575; each once, at most BLOCK_EVENTS_DEVICES of them. 0; -EINVAL with *e,
 * which repeats nothing of an argument, class ERR_INPUT.
 */
int trace_request_parse(struct trace_request *r, int argc, char *const *argv, struct err *e);

#endif
