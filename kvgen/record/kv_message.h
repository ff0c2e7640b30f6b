/* kv_message.h - the KV events of vLLM, SGLang, Mooncake and Dynamo's publishers: one message of
 * MessagePack, in every shape that their versions send. */
#ifndef KVGEN_RECORD_KV_MESSAGE_H
#define KVGEN_RECORD_KV_MESSAGE_H

#include "kvgen/record/batch.h"

/* Adds the events of payload[0..len) to *b and sets its time and rank. Token ids, names and what is
 * not known are left out. 0; -EBADMSG with *e (where empty): damaged; -EINVAL: a medium that is not
 * known, with its name in *e; -ENOMEM. */
int kv_message_decode(const struct record_opts *o, const void *payload, size_t len, struct batch *b,
                      struct batch_unknown *unknown, struct err *e);

#endif
