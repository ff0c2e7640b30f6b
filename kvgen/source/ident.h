/* ident.h - the identity of an object inside the simulator: two numbers, from which its key is
 * written only when a row is. Identities are equal if and only if their keys are. */
#ifndef KVGEN_SOURCE_IDENT_H
#define KVGEN_SOURCE_IDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/trace/trace.h"

enum ident_kind {
    IDENT_BLOCK = 1,
    IDENT_TURN,
    IDENT_REQUEST,
    IDENT_SYSTEM,
    IDENT_SCOPED_BLOCK,
    IDENT_DATASET_TURN,
    IDENT_DOCUMENT,
    IDENT_CHUNK,
    IDENT_PREPOP,
    IDENT_CHAIN,
    IDENT_TEXT = 15
};

#define IDENT_MAX_USERS     ((uint64_t)1 << 28)
#define IDENT_MAX_PARTS     ((1 << 19) - 1)
#define IDENT_MAX_KEY       160 /* bytes of a key, for user names of up to IDENT_MAX_USER_NAME */
#define IDENT_MAX_USER_NAME 64

/*
 * A plain value.
 * hi: kind (4 bits), user (28 bits; of a chain 1 + its group), turn (32 bits).
 * lo: of blocks, chains and texts a number of 64 bits; of others a number of 44 bits, the part + 1
 * (19 bits), and whether it is the last part (1 bit).
 */
struct ident {
    uint64_t hi, lo;
};

struct ident ident_block(uint64_t id);
/* A block whose identifier has a meaning within a scope (below IDENT_MAX_USERS) only. Scope 0: as
 * ident_block. */
struct ident ident_scoped_block(uint32_t scope, uint64_t id);
/* Turn (from 1) of the conversation that user began at start_ms. */
struct ident ident_turn(uint32_t user, uint64_t start_ms, uint32_t turn);
/* Turn (from 1) of a conversation of a dataset. */
struct ident ident_dataset_turn(uint64_t conversation, uint32_t turn);
/* Another turn of the same conversation. id is of one of the two kinds above. */
struct ident ident_other_turn(struct ident id, uint32_t turn);
/* The object of a request without a conversation. */
struct ident ident_request(uint32_t user, uint64_t request);
/* Shared system prompt i, from 0. */
struct ident ident_system(uint32_t i);
/* A document for retrieval (below IDENT_MAX_USERS) as one object, and a chunk of it. */
struct ident ident_document(uint32_t document);
struct ident ident_chunk(uint32_t document, uint32_t chunk);
/* Object i of those written before the first request. */
struct ident ident_prepop(uint64_t i);
/* An engine's block for a chain of tokens, by the chain's hash; in_group: 1 + its group of layers,
 * 0 where there is only one. */
struct ident ident_chain(uint64_t hash, uint32_t in_group);
/* Any other key, by 124 bits of its hash. The text of the key is kept elsewhere. */
struct ident ident_text(uint64_t hash_hi, uint64_t hash_lo);

/* Part i (from 0, below IDENT_MAX_PARTS) of an entry that is not a block. The last part has an
 * identity of its own, so an entry can be read without knowing its length. Its key does not tell.
 */
struct ident ident_part(struct ident id, uint32_t i, bool last);
/* The entry that a part belongs to. What is not a part is returned as it is. */
struct ident ident_whole(struct ident id);
/* Parts of the entry, if id is its last part; else 0. */
uint32_t ident_parts(struct ident id);

static inline bool ident_equal(struct ident a, struct ident b)
{
    return a.lo == b.lo && a.hi == b.hi;
}
enum ident_kind ident_kind(struct ident id);
/* The user of a turn or request, the scope of a block, the document of a chunk; else 0. */
uint32_t ident_user(struct ident id);

/*
 * Writes the key, without NUL, to buf of IDENT_MAX_KEY bytes; returns its length. user is the name
 * of ident_user(id); turns of users and requests need it:
 *   block_<id>, session_<scope>_block_<id>, conversation_<number>_turn_<n>,
 *   conv_<user>_<start ms>_turn_<n>, <user>_req_<number>, system_prompt_<i>,
 *   rag_doc_<document, four digits or more>, rag_doc_<...>_chunk_<n>, prepop_<i>, chain_<16
 * hexadecimal digits>, and @g<group> behind it where there are several. A part of an entry is
 * <key>/<i>. Identities of ident_text have no key here.
 */
size_t ident_key(struct ident id, const char *user, size_t user_len, char *buf);
/* The parts of a key of ident_chain, perhaps with the engine of the copy (@e<engine>, else 0)
 * behind it. false: it is another one. */
bool ident_read_chain(struct trace_str key, uint64_t *hash, uint32_t *in_group, uint32_t *engine);

#endif
