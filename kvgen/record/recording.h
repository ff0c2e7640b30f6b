/* recording.h - the events of engines as rows of a trace (kvgen/format/import.h). */
#ifndef KVGEN_RECORD_RECORDING_H
#define KVGEN_RECORD_RECORDING_H

#include "kvgen/format/import.h"
#include "kvgen/record/batch.h"
#include "kvgen/record/live.h"
#include "kvgen/source/inputs.h"
#include "lib/model/model.h"

enum recording_format {
    RECORDING_KV_EVENTS, /* .zmqrec, or a capture; the content tells */
    RECORDING_TRTLLM,
    RECORDING_DYNAMO_KV,
    RECORDING_LCT,
    RECORDING_STRACE,
    RECORDING_FORMATS
};

struct recording_opts {
    enum recording_format format;
    struct record_opts record;
    struct model model;
    uint32_t ranks;          /* that share an object */
    uint64_t object_bytes;   /* of objects of unknown size; 0: they are an error */
    int64_t reorder_ns;      /* rows of several publishers are put in order within this time */
    const char *capture;     /* file for what was parsed; NULL: none */
    struct inputs *requests; /* a request trace of Dynamo, whose reads are filled in; NULL: none */
    const struct live_opts *live; /* engines that are asked now, in place of files; NULL: none */
    bool goes_on; /* it cannot be read again: media and sizes that are not known end nothing */
};

/*
 * Takes in and o->requests, also on failure; NULL with live. Rows have the core columns, User (the
 * publisher), Class and Tokens; their times count from the first row. 0 or negative errno with *e.
 */
int recording_open(struct import **out, struct inputs *in, const struct recording_opts *o,
                   struct err *e);

#endif
