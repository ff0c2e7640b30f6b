/* The slab of a storage tier: its header, the space for objects, and the index, which a run writes
 * when it keeps its objects and the next one reads. The index is untrusted input: the space that it
 * claims must be free, and the objects themselves are verified block by block as always. */
#include "lib/layout/slab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/data/data.h"
#include "lib/io/io.h"

#define SLAB_MAGIC   "KVTSLAB3"
#define SLAB_MAGIC_2 "KVTSLAB2" /* of earlier versions: its index has no generations */
#define SLAB_BEGIN   ((uint64_t)1 << 20)
#define SLAB_SEGMENT ((size_t)1 << 20)
#define OBJECT_WORDS 5u /* of an object in the index, at least */
#define OBJECT_HEAD  4u /* words before its extents; in a slab of an earlier version one less */
#define SEGMENT_HEAD 2u /* words: count, checksum */
#define SEGMENT_MAX  (SLAB_SEGMENT / 8 - SEGMENT_HEAD)
/* In a slab that cannot grow, this share is index: 48 bytes for an object of 48 KiB. */
#define SLAB_INDEX_SHARE 1024u
#define SLAB_TABLE_MIN   1024u
#define SLAB_ST_BLOCK    512u /* unit of st_blocks */

/* As it is on storage. */
struct slab_header {
    char magic[8];
    uint64_t state; /* enum slab_state */
    uint64_t resizes, unsure, space_bytes;
    uint64_t index_at, index_words; /* offset behind the space; length */
    uint64_t objects, bytes;        /* in the index */
    uint64_t checksum;              /* of all before it */
};
_Static_assert(sizeof(struct slab_header) == 80, "no padding");

enum slab_state {
    SLAB_IN_USE,
    SLAB_KEPT,
    SLAB_KEEPING /* in use by a run that keeps what the index names; some of it may be written over
                  */
};

/* A kept object, until it is adopted. */
struct kept {
    struct hash128 name;
    uint64_t generation; /* 0: not known */
    uint32_t list;       /* 0: an empty cell */
    bool adopted;
};

struct layout_slab {
    struct layout_slab_opts o;
    struct extent_pool *pool;
    uint64_t *segment; /* one, aligned as O_DIRECT wants */
    struct slab_header header;
    bool used;
    bool broken; /* the index of a kept slab cannot be used */
    /* for reading the index: */
    struct kept *table; /* open addressing; table_size is a power of two */
    uint64_t table_size, found, found_bytes;
    uint64_t table_seed; /* drawn, so that no index can be written whose names share a place */
    uint64_t words_left; /* of the index, behind this segment */
    /* for reading and writing it: */
    uint64_t segment_words, segment_at; /* words in the segment, and the next one */
    uint64_t index_at;                  /* where behind the space the next segment is */
    uint64_t measured_words;            /* of the index that is to be written */
    uint64_t words, objects, bytes;     /* in it so far */
    bool writing;
};

/* ---- header ---- */

static bool header_valid(const struct slab_header *h)
{
    return (memcmp(h->magic, SLAB_MAGIC, sizeof(h->magic)) == 0 ||
            memcmp(h->magic, SLAB_MAGIC_2, sizeof(h->magic)) == 0) &&
           h->checksum == hash_64(h, offsetof(struct slab_header, checksum));
}

bool layout_slab_is_ours(const void *block)
{
    struct slab_header h;

    memcpy(&h, block, sizeof(h));
    return header_valid(&h);
}

/* Moves whole blocks at an offset, as O_DIRECT wants. 0, IO_PAST_END or negative errno. */
static int move_all(int fd, void *buf, size_t len, uint64_t offset, bool write)
{
    struct io_req turn = {0};

    for (size_t done = 0; done < len;) {
        char *at = (char *)buf + done;
        off_t where = (off_t)(offset + done);
        ssize_t n = write ? pwrite(fd, at, len - done, where) : pread(fd, at, len - done, where);

        if (n == 0)
            return write ? -EIO : IO_PAST_END;
        if (n < 0 && errno != EINTR && (errno != EAGAIN || !io_again(&turn)))
            return -errno;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int header_read(int fd, void *block, struct slab_header *h)
{
    int rc = move_all(fd, block, DATA_BLOCK, 0, false);

    if (rc == IO_PAST_END)
        return -ENOENT;
    if (rc < 0)
        return rc;
    memcpy(h, block, sizeof(*h));
    return header_valid(h) ? 0 : -ENOENT;
}

/* Bytes of the segments that so many words take. */
static uint64_t index_bytes(uint64_t words)
{
    return (words / SEGMENT_MAX + (words % SEGMENT_MAX > 0)) * SLAB_SEGMENT;
}

static uint64_t part_bits(struct target_part p)
{
    bool whole = p.to == 0 || target_part_same(p, TARGET_WHOLE);

    return whole ? 0 : (uint64_t)p.from << 16 | (uint64_t)p.to << 32;
}

static struct target_part part_of(const struct slab_header *h)
{
    struct target_part p = {(uint16_t)(h->resizes >> 16), (uint16_t)(h->resizes >> 32)};

    return target_part_sound(p) ? p : TARGET_WHOLE;
}

int layout_slab_read_header(int fd, struct layout_slab_header *out)
{
    struct slab_header h;
    void *block;
    int rc;

    if (posix_memalign(&block, DATA_BLOCK, DATA_BLOCK) != 0)
        return -ENOMEM;
    rc = header_read(fd, block, &h);
    if (rc == 0)
        *out = (struct layout_slab_header){.kept = h.state != SLAB_IN_USE,
                                           .resizes = h.resizes & 1,
                                           .part = part_of(&h),
                                           .space_bytes = h.space_bytes,
                                           .index_bytes = h.index_at + index_bytes(h.index_words),
                                           .objects = h.objects,
                                           .bytes = h.bytes};
    free(block);
    return rc;
}

static int header_write(struct layout_slab *s, enum slab_state state)
{
    struct slab_header *h = &s->header;
    int rc;

    if (state != SLAB_KEEPING) /* else the index is still the earlier one */
        memcpy(h->magic, SLAB_MAGIC, sizeof(h->magic));
    h->state = state;
    h->resizes = s->o.resizes | part_bits(s->o.part);
    h->space_bytes = s->o.space_bytes;
    h->checksum = hash_64(h, offsetof(struct slab_header, checksum));
    memset(s->segment, 0, DATA_BLOCK);
    memcpy(s->segment, h, sizeof(*h));
    rc = move_all(s->o.fd, s->segment, DATA_BLOCK, 0, true);
    return rc == 0 && fdatasync(s->o.fd) < 0 ? -errno : rc;
}

/* ---- sizes ---- */

uint64_t layout_slab_bytes(uint64_t capacity, uint64_t max_objects)
{
    uint64_t slack, space;

    if (__builtin_mul_overflow(max_objects, (uint64_t)DATA_BLOCK, &slack) ||
        __builtin_add_overflow(capacity, slack, &space) || space > INT64_MAX / 2)
        return INT64_MAX;
    space = DATA_PADDED(space);
    /* The share is of space and index together. */
    return SLAB_BEGIN + space + DATA_PADDED(space / (SLAB_INDEX_SHARE - 1)) + 5 * SLAB_SEGMENT;
}

uint64_t layout_slab_space(uint64_t slab_bytes)
{
    uint64_t rest = slab_bytes > SLAB_BEGIN ? slab_bytes - SLAB_BEGIN : 0;
    uint64_t index = rest / SLAB_INDEX_SHARE / SLAB_SEGMENT * SLAB_SEGMENT + 4 * SLAB_SEGMENT;

    return rest > index ? (rest - index) / DATA_BLOCK * DATA_BLOCK : 0;
}

/* ---- reading the index ---- */

static struct kept *table_find(const struct layout_slab *s, struct hash128 name)
{
    uint64_t i = hash_mix(hash_mix(name.lo ^ s->table_seed) + name.hi) & (s->table_size - 1);

    while (s->table[i].list && (s->table[i].name.lo != name.lo || s->table[i].name.hi != name.hi))
        i = (i + 1) & (s->table_size - 1);
    return &s->table[i];
}

static int segment_read(struct layout_slab *s)
{
    uint64_t offset = SLAB_BEGIN + s->header.space_bytes + s->index_at;
    int rc = move_all(s->o.fd, s->segment, SLAB_SEGMENT, offset, false);

    if (rc < 0)
        return rc == IO_PAST_END ? -EBADMSG : rc;
    s->index_at += SLAB_SEGMENT;
    s->segment_words = s->segment[0];
    s->segment_at = 0;
    if (s->segment_words == 0 || s->segment_words > SEGMENT_MAX ||
        s->segment_words > s->words_left ||
        s->segment[1] != hash_64(s->segment + SEGMENT_HEAD, s->segment_words * 8))
        return -EBADMSG;
    s->words_left -= s->segment_words;
    return 0;
}

static int words_read(struct layout_slab *s, uint64_t *words, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        int rc = s->segment_at == s->segment_words ? segment_read(s) : 0;

        if (rc < 0)
            return rc;
        words[i] = s->segment[SEGMENT_HEAD + s->segment_at++];
    }
    return 0;
}

/* One object of the index, into the table. */
static int object_read(struct layout_slab *s)
{
    bool early = memcmp(s->header.magic, SLAB_MAGIC_2, sizeof(s->header.magic)) == 0;
    unsigned words = early ? OBJECT_HEAD - 1 : OBJECT_HEAD;
    uint64_t head[OBJECT_HEAD], extent[2]; /* name, generation and extents; offset and length */
    uint32_t list = 0, last = 0;
    struct hash128 name;
    struct kept *k;
    int rc = words_read(s, head, words);

    if (rc < 0)
        return rc;
    if (head[words - 1] == 0 || head[words - 1] > s->o.space_bytes / DATA_BLOCK)
        return -EBADMSG;
    for (uint64_t i = 0; i < head[words - 1] && rc == 0; i++) {
        rc = words_read(s, extent, 2);
        if (rc == 0)
            rc = extent_claim(s->pool, extent[0], extent[1], &list, &last);
    }
    name = (struct hash128){.lo = head[0], .hi = head[1]};
    k = table_find(s, name);
    if (rc == 0 && k->list)
        rc = -EBADMSG; /* named twice */
    if (rc < 0) {
        extent_release(s->pool, list);
        return rc;
    }
    *k = (struct kept){.name = name, .generation = early ? 0 : head[2], .list = list};
    s->found++;
    s->found_bytes += extent_bytes(s->pool, list);
    return 0;
}

static void table_release(struct layout_slab *s)
{
    for (uint64_t i = 0; s->table && i < s->table_size; i++) {
        if (!s->table[i].adopted)
            extent_release(s->pool, s->table[i].list);
    }
    free(s->table);
    s->table = NULL;
    s->found = s->found_bytes = 0;
}

/* Is there an index of so many words in the file? Memory is taken for its objects before they are
 * read, so a header alone is not believed, nor a length that takes no room. */
static bool index_is_there(const struct layout_slab *s)
{
    uint64_t bytes = index_bytes(s->header.index_words), end;
    off_t length = lseek(s->o.fd, 0, SEEK_END);
    struct stat st;

    return !__builtin_add_overflow(SLAB_BEGIN + s->header.space_bytes, s->header.index_at, &end) &&
           !__builtin_add_overflow(end, bytes, &end) && length >= 0 && end <= (uint64_t)length &&
           fstat(s->o.fd, &st) == 0 &&
           (!S_ISREG(st.st_mode) || bytes <= (uint64_t)st.st_blocks * SLAB_ST_BLOCK);
}

/* Reads the index of a kept slab. 0, also if the index is broken (s->broken, with an empty table);
 * else no memory, or the slab cannot be read. */
static int index_read(struct layout_slab *s)
{
    const uint64_t *at = &s->header.index_at, objects = s->header.objects;
    bool sound = objects <= s->o.space_bytes / DATA_BLOCK &&
                 objects <= s->header.index_words / OBJECT_WORDS &&
                 s->header.space_bytes <= s->o.space_bytes && *at % SLAB_SEGMENT == 0 &&
                 *at <= UINT64_MAX / 4 && s->header.index_words <= UINT64_MAX / 16 &&
                 index_is_there(s);
    int rc = sound ? 0 : -EBADMSG;

    if (rc == 0) {
        for (s->table_size = SLAB_TABLE_MIN; s->table_size < objects * 2;)
            s->table_size *= 2;
        s->table = calloc(s->table_size, sizeof(*s->table));
        rc = s->table ? 0 : -ENOMEM;
    }
    if (getrandom(&s->table_seed, sizeof(s->table_seed), GRND_NONBLOCK) < 0)
        s->table_seed = (uint64_t)clock_wall_ns();
    s->words_left = s->header.index_words;
    s->index_at = *at;
    for (uint64_t i = 0; rc == 0 && i < objects; i++)
        rc = object_read(s);
    if (rc == -EBADMSG || rc == -EEXIST) {
        table_release(s);
        s->broken = true;
        rc = 0;
    }
    s->segment_words = s->segment_at = s->index_at = 0;
    return rc;
}

/* ---- opening and closing ---- */

int layout_slab_open(struct layout_slab **out, const struct layout_slab_opts *o, struct err *e)
{
    struct layout_slab *s = calloc(1, sizeof(*s));
    void *segment = NULL;
    int rc = -ENOMEM;

    if (!s)
        return err_nomem(e, "slab");
    s->o = *o;
    s->pool = extent_pool_create(o->space_bytes, DATA_BLOCK);
    if (s->pool && posix_memalign(&segment, DATA_BLOCK, SLAB_SEGMENT) == 0)
        s->segment = segment;
    if (s->segment)
        rc = header_read(o->fd, s->segment, &s->header);
    if (rc == 0 && s->header.state != SLAB_IN_USE)
        rc = index_read(s);
    if (rc == -ENOENT)
        s->header = (struct slab_header){0};
    s->header.unsure |= s->header.state == SLAB_KEEPING;
    if (rc < 0 && rc != -ENOENT) {
        layout_slab_close(s);
        return err_errno(e, rc, ERR_TARGET, "", "the slab cannot be read");
    }
    *out = s;
    return 0;
}

void layout_slab_close(struct layout_slab *s)
{
    if (!s)
        return;
    free(s->table);
    free(s->segment);
    extent_pool_free(s->pool);
    free(s);
}

struct extent_pool *layout_slab_pool(struct layout_slab *s)
{
    return s->pool;
}

int layout_slab_fd(const struct layout_slab *s)
{
    return s->o.fd;
}

uint64_t layout_slab_begin(void)
{
    return SLAB_BEGIN;
}

uint64_t layout_slab_found(const struct layout_slab *s, uint64_t *bytes)
{
    *bytes = s->found_bytes;
    return s->found;
}

bool layout_slab_broken(const struct layout_slab *s)
{
    return s->broken;
}

bool layout_slab_unsure(const struct layout_slab *s)
{
    return s->header.unsure;
}

void layout_slab_doubt(struct layout_slab *s)
{
    s->header.unsure = 1;
}

uint32_t layout_slab_adopt(struct layout_slab *s, struct hash128 name, uint64_t *generation)
{
    struct kept *k = s->table ? table_find(s, name) : NULL;

    if (!k || !k->list || k->adopted)
        return 0;
    k->adopted = true;
    *generation = k->generation;
    s->found--;
    s->found_bytes -= extent_bytes(s->pool, k->list);
    return k->list;
}

/* The space has grown over the place of the index: puts it behind the new space. The old one is
 * valid until the header says otherwise, so the two must not overlap. */
static int index_move(struct layout_slab *s)
{
    uint64_t from = SLAB_BEGIN + s->header.space_bytes + s->header.index_at;
    uint64_t to = SLAB_BEGIN + s->o.space_bytes, len = index_bytes(s->header.index_words);
    int rc = to < from + len ? -ENOSPC : 0;

    if (s->header.space_bytes == s->o.space_bytes)
        return 0;
    for (uint64_t at = 0; at < len && rc == 0; at += SLAB_SEGMENT) {
        rc = move_all(s->o.fd, s->segment, SLAB_SEGMENT, from + at, false);
        if (rc == 0)
            rc = move_all(s->o.fd, s->segment, SLAB_SEGMENT, to + at, true);
    }
    s->header.index_at = 0;
    return rc == 0 && fdatasync(s->o.fd) < 0 ? -errno : rc;
}

int layout_slab_use(struct layout_slab *s)
{
    int rc;

    if (s->used)
        return 0;
    if (s->o.keeps && s->header.objects > 0 && !s->broken) {
        rc = index_move(s);
        if (rc == 0)
            rc = header_write(s, SLAB_KEEPING);
    } else {
        s->header.index_at = s->header.index_words = s->header.objects = s->header.bytes = 0;
        s->header.unsure = 0;
        rc = header_write(s, SLAB_IN_USE);
    }
    if (rc == 0 && (s->o.destroys || !s->o.keeps))
        table_release(s);
    s->used = rc == 0;
    return rc;
}

bool layout_slab_used(const struct layout_slab *s)
{
    return s->used;
}

/* ---- writing the index ---- */

static int segment_write(struct layout_slab *s)
{
    uint64_t offset = SLAB_BEGIN + s->o.space_bytes + s->index_at;
    size_t used = (SEGMENT_HEAD + s->segment_words) * 8;

    if (!s->o.resizes && s->index_at + SLAB_SEGMENT > s->o.index_bytes)
        return -ENOSPC;
    memset((char *)s->segment + used, 0, SLAB_SEGMENT - used);
    s->segment[0] = s->segment_words;
    s->segment[1] = hash_64(s->segment + SEGMENT_HEAD, s->segment_words * 8);
    s->segment_words = 0;
    s->index_at += SLAB_SEGMENT;
    return move_all(s->o.fd, s->segment, SLAB_SEGMENT, offset, true);
}

static int words_write(struct layout_slab *s, const uint64_t *words, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        int rc = s->segment_words == SEGMENT_MAX ? segment_write(s) : 0;

        if (rc < 0)
            return rc;
        s->segment[SEGMENT_HEAD + s->segment_words++] = words[i];
        s->words++;
    }
    return 0;
}

static uint64_t object_words(const struct layout_slab *s, uint32_t list)
{
    uint64_t words = OBJECT_HEAD;
    struct extent x;

    for (uint32_t pos = list; extent_walk(s->pool, &pos, &x);)
        words += 2;
    return words;
}

void layout_slab_measure(struct layout_slab *s, uint32_t list)
{
    s->measured_words += object_words(s, list);
}

static int object_write(struct layout_slab *s, struct hash128 name, uint64_t generation,
                        uint32_t list)
{
    uint64_t head[OBJECT_HEAD] = {name.lo, name.hi, generation,
                                  (object_words(s, list) - OBJECT_HEAD) / 2};
    struct extent x;
    int rc = words_write(s, head, OBJECT_HEAD);

    for (uint32_t pos = list; rc == 0 && extent_walk(s->pool, &pos, &x);)
        rc = words_write(s, (const uint64_t[]){x.offset, x.len}, 2);
    s->objects++;
    s->bytes += extent_bytes(s->pool, list);
    return rc;
}

/* Kept objects that the run had no use for come first. The new index goes before or behind the one
 * that is valid until the header is written; over it only where it fits nowhere else. */
static int index_begin(struct layout_slab *s)
{
    const struct slab_header *h = &s->header;
    uint64_t len, old = h->index_words ? index_bytes(h->index_words) : 0;
    int rc = layout_slab_use(s);

    for (uint64_t i = 0; s->table && i < s->table_size; i++)
        if (s->table[i].list && !s->table[i].adopted)
            layout_slab_measure(s, s->table[i].list);
    len = index_bytes(s->measured_words);
    s->writing = true;
    s->index_at = old && len > h->index_at ? h->index_at + old : 0;
    if (!s->o.resizes && s->index_at + len > s->o.index_bytes)
        s->index_at = 0;
    for (uint64_t i = 0; rc == 0 && s->table && i < s->table_size; i++)
        if (s->table[i].list && !s->table[i].adopted)
            rc = object_write(s, s->table[i].name, s->table[i].generation, s->table[i].list);
    return rc;
}

int layout_slab_keep(struct layout_slab *s, struct hash128 name, uint64_t generation, uint32_t list)
{
    int rc = s->writing ? 0 : index_begin(s);

    return rc == 0 ? object_write(s, name, generation, list) : rc;
}

int layout_slab_kept(struct layout_slab *s)
{
    int rc = s->writing ? 0 : index_begin(s);

    if (rc == 0 && s->segment_words > 0)
        rc = segment_write(s);
    if (rc == 0 && fdatasync(s->o.fd) < 0)
        rc = -errno;
    if (rc < 0)
        return rc;
    s->header.index_at = s->index_at - index_bytes(s->words);
    s->header.index_words = s->words;
    s->header.objects = s->objects;
    s->header.bytes = s->bytes;
    return header_write(s, SLAB_KEPT);
}
