/* Two sources over one temporary file: the recorder passes requests on and writes them, the player
 * gives them again. Both look like the source that was recorded, but for what they do on answers.
 */
#include "kvgen/worth/frozen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/sort/temp_file.h"

enum {
    BUFFER = 1 << 20
};

struct side {
    struct source base; /* first */
    struct frozen *frozen;
};

struct frozen {
    struct source *source; /* that is recorded */
    struct source_ops recorder_ops, player_ops;
    struct side recorder, player;
    struct temp_file *file;
    uint32_t block_tokens;    /* of the first request with blocks */
    uint64_t written, played; /* bytes */
    unsigned char *buffer;    /* of the file from buffer_at on, buffered bytes */
    uint64_t buffer_at;
    size_t buffered;
    struct request next; /* of the player; without blocks if there are none, ... */
    bool has_next;       /* ... read, and not taken yet */
    bool complete;       /* all is in the file: the buffer is the player's */
    int failed;          /* negative errno, of a write: told at the next peek */
    struct err why;
};

static struct frozen *frozen_of(const struct source *s)
{
    return ((const struct side *)s)->frozen;
}

/* ---- the file, in order ---- */

static int flush(struct frozen *f)
{
    int rc = f->buffered > 0
                 ? temp_file_write(f->file, f->buffer, f->buffered, f->buffer_at, &f->why)
                 : 0;
    f->buffer_at += f->buffered;
    f->buffered = 0;
    return rc;
}

static void put(struct frozen *f, const void *p, size_t len)
{
    const unsigned char *from = p;
    while (len > 0 && f->failed == 0) {
        size_t n = BUFFER - f->buffered < len ? BUFFER - f->buffered : len;
        memcpy(f->buffer + f->buffered, from, n);
        f->buffered += n;
        f->written += n;
        from += n;
        len -= n;
        if (f->buffered == BUFFER)
            f->failed = flush(f);
    }
}

static int get(struct frozen *f, void *p, size_t len, struct err *e)
{
    unsigned char *to = p;
    while (len > 0) {
        uint64_t in = f->played - f->buffer_at;
        if (in >= f->buffered) {
            int64_t n = temp_file_read(f->file, f->buffer, BUFFER, f->played, e);
            if (n <= 0)
                return n < 0 ? (int)n : err_set(e, -EIO, ERR_OUTPUT, "--worth", "file cut short");
            f->buffer_at = f->played;
            f->buffered = (size_t)n;
            in = 0;
        }
        size_t n = f->buffered - in < len ? f->buffered - in : len;
        memcpy(to, f->buffer + in, n);
        f->played += n;
        to += n;
        len -= n;
    }
    return 0;
}

/* ---- recording ---- */

static int record_peek(struct source *s, int64_t *arrival_ns, struct err *e)
{
    struct frozen *f = frozen_of(s);
    if (f->failed < 0) {
        *e = f->why;
        return f->failed;
    }
    return f->source->ops->peek(f->source, arrival_ns, e);
}

static void record_take(struct source *s, struct request *out)
{
    struct frozen *f = frozen_of(s);
    f->source->ops->take(f->source, out);
    put(f, out, sizeof(*out));
    if (out->blocks && f->block_tokens == 0)
        f->block_tokens = out->block_tokens;
    if (out->blocks)
        put(f, out->blocks, out->block_count * sizeof(*out->blocks));
}

static void record_done(struct source *s, const struct request *r, int64_t now_ns)
{
    struct frozen *f = frozen_of(s);
    f->source->ops->done(f->source, r, now_ns);
}

static void record_release(struct source *s, const struct request *r)
{
    struct frozen *f = frozen_of(s);
    f->source->ops->release(f->source, r);
}

/* ---- playing ---- */

static int play_peek(struct source *s, int64_t *arrival_ns, struct err *e)
{
    struct frozen *f = frozen_of(s);
    if (!f->has_next && f->played == f->written)
        return 0;
    if (!f->has_next) {
        struct request *r = &f->next;
        int rc = get(f, r, sizeof(*r), e);
        if (rc == 0 && r->blocks) {
            uint64_t *blocks = calloc(r->block_count ? r->block_count : 1, sizeof(*blocks));
            r->blocks = blocks;
            rc = blocks ? get(f, blocks, r->block_count * sizeof(*blocks), e)
                        : err_nomem(e, "blocks of a request");
        }
        if (rc < 0)
            return rc;
        f->has_next = true;
    }
    *arrival_ns = f->next.arrival_ns;
    return 1;
}

static void play_take(struct source *s, struct request *out)
{
    struct frozen *f = frozen_of(s);
    *out = f->next;
    f->next.blocks = NULL;
    f->has_next = false;
}

static void play_release(struct source *s, const struct request *r)
{
    (void)s;
    free((void *)(uintptr_t)r->blocks);
}

/* ---- of both ---- */

static size_t user_name(const struct source *s, uint32_t user, char *buf)
{
    const struct frozen *f = frozen_of(s);
    return f->source->ops->user_name(f->source, user, buf);
}

static uint32_t turns(const struct source *s, const struct request *r)
{
    const struct frozen *f = frozen_of(s);
    return f->source->ops->turns(f->source, r);
}

int frozen_create(struct frozen **out, struct source *source, struct err *e)
{
    const struct source_ops *ops = source->ops;
    struct frozen *f = calloc(1, sizeof(*f));
    *out = NULL;
    if (!f || !(f->buffer = malloc(BUFFER))) {
        frozen_free(f);
        return err_nomem(e, "requests");
    }
    f->source = source;
    f->recorder_ops = (struct source_ops){.name = ops->name,
                                          .blocks = ops->blocks,
                                          .peek = record_peek,
                                          .take = record_take,
                                          .done = ops->done ? record_done : NULL,
                                          .release = ops->release ? record_release : NULL,
                                          .user_name = user_name,
                                          .turns = ops->turns ? turns : NULL};
    f->player_ops = (struct source_ops){.name = ops->name,
                                        .blocks = ops->blocks,
                                        .peek = play_peek,
                                        .take = play_take,
                                        .release = play_release,
                                        .user_name = user_name};
    f->recorder = (struct side){.base.ops = &f->recorder_ops, .frozen = f};
    f->player = (struct side){.base.ops = &f->player_ops, .frozen = f};
    int rc = temp_file_open(&f->file, temp_file_folder(), e);
    if (rc < 0) {
        frozen_free(f);
        return rc;
    }
    *out = f;
    return 0;
}

void frozen_free(struct frozen *f)
{
    if (!f)
        return;
    free((void *)(uintptr_t)f->next.blocks);
    temp_file_close(f->file);
    free(f->buffer);
    free(f);
}

struct source *frozen_recorder(struct frozen *f)
{
    return &f->recorder.base;
}

uint32_t frozen_block_tokens(const struct frozen *f)
{
    return f->block_tokens;
}

int frozen_play(struct frozen *f, struct source **out, struct err *e)
{
    if (!f->complete && f->failed == 0)
        f->failed = flush(f);
    f->complete = true;
    if (f->failed < 0) {
        *e = f->why;
        return f->failed;
    }
    free((void *)(uintptr_t)f->next.blocks);
    f->next.blocks = NULL;
    f->has_next = false;
    f->played = f->buffer_at = 0;
    f->buffered = 0;
    *out = &f->player.base;
    return 0;
}
