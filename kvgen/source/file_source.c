/* The part that all sources of files share, so that all of them understand --speed,
 * --replay-cycles and --qos in the same way. What a row of a file means is left to blocks.c,
 * burst.c, sharegpt.c and agentic.c. */
#include "kvgen/source/file_source.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/units.h"
#include "lib/json/jsonin.h"
#include "lib/opt/opt.h"

enum {
    MAX_ELEMENT = 64 << 20
};

void *file_source_create(size_t bytes, const struct source_ops *ops, struct inputs *in,
                         const struct file_source_opts *o, inputs_again again, struct err *e)
{
    struct file_source *s = calloc(1, bytes);
    if (!s) {
        inputs_close(in);
        err_nomem(e, "source");
        return NULL;
    }
    s->base.ops = ops;
    s->o = *o;
    if (s->o.memory_bytes == 0)
        s->o.memory_bytes = FILE_SOURCE_MEMORY;
    s->in = in;
    inputs_repeat(in, again, s);
    return s;
}

int file_source_opened(struct file_source *s, int rc, struct source **out)
{
    if (rc < 0)
        s->base.ops->close(&s->base);
    else
        *out = &s->base;
    return rc < 0 ? rc : 0;
}

void file_source_release(struct file_source *s)
{
    jsonin_stream_close(s->stream);
    inputs_close(s->in);
    free(s);
}

struct jsonin_limit file_source_limit(const struct file_source *s)
{
    return (struct jsonin_limit){.bytes = s->o.memory_bytes, .option = "--config input_memory"};
}

int file_source_hold(struct file_source *s, uint64_t bytes, const char *what, struct err *e)
{
    char most[32];
    s->held_bytes += bytes;
    if (s->held_bytes <= s->o.memory_bytes)
        return 0;
    return err_set(e, -EFBIG, ERR_INPUT, inputs_path(s->in),
                   "%s under way take more than %s of memory (--config input_memory allows more)",
                   what, units_format_bytes(most, sizeof(most), (double)s->o.memory_bytes));
}

int file_source_next_file(struct file_source *s, struct err *e)
{
    int rc = inputs_next(s->in, &s->file, e);
    if (rc > 0)
        s->new_file = true;
    return rc;
}

int file_source_elements(struct file_source *s, struct err *e)
{
    struct jsonin_limit limit = file_source_limit(s);
    jsonin_stream_close(s->stream);
    s->stream = NULL;
    int rc = jsonin_stream_open(&s->stream, s->file, MAX_ELEMENT, e);
    if (rc == 0)
        jsonin_stream_limit(s->stream, &limit);
    return rc;
}

int file_source_next_element(struct file_source *s, const struct jsonin_v **v, struct err *e)
{
    int rc = 0;
    while (!s->stream || (rc = jsonin_stream_next(s->stream, v, e)) == 0) {
        rc = file_source_next_file(s, e);
        if (rc <= 0)
            return rc;
        rc = s->begin_file ? s->begin_file(s, e) : 0;
        if (rc == 0)
            rc = file_source_elements(s, e);
        if (rc < 0)
            return rc;
    }
    return rc;
}

int file_source_again(void *source, const char *path, struct err *e)
{
    struct file_source *s = source;
    s->cycles++;
    if (!s->running || s->cycles == s->o.cycles)
        return 0;
    if (s->o.cycles == 0 && !s->o.counted && s->arrival_ns == s->cycle_ns)
        return err_set(e, -EINVAL, ERR_INPUT, path,
                       "all requests come at one time: --replay-cycles 0 would never end");
    s->cycle_ns = s->arrival_ns;
    s->running = false;
    return 1;
}

/* A time without a request as --config max_gap leaves it, counted if it is cut. */
static int64_t cut_gap(struct file_source *s, int64_t ns)
{
    if (s->o.max_gap_ns == 0 || ns <= s->o.max_gap_ns)
        return ns;
    s->gaps_cut++;
    return s->o.max_gap_ns;
}

int file_source_arrival(struct file_source *s, int64_t time_ns, int64_t *arrival_ns)
{
    if (time_ns > FILE_SOURCE_MAX_NS || time_ns < -FILE_SOURCE_MAX_NS)
        return -ERANGE;
    if (!s->running || (s->new_file && time_ns < s->last_ns)) {
        s->first_ns = time_ns;
        s->base_ns = s->arrival_ns;
        s->running = true;
    } else if (time_ns < s->last_ns) {
        return -EINVAL;
    } else if (s->o.max_gap_ns > 0) {
        uint64_t since_last = (uint64_t)time_ns - (uint64_t)s->last_ns; /* up to 2^63 */
        int64_t gap_ns = since_last > INT64_MAX ? INT64_MAX : (int64_t)since_last;
        s->first_ns += gap_ns - cut_gap(s, gap_ns);
    }
    uint64_t since_ns = (uint64_t)time_ns - (uint64_t)s->first_ns; /* up to 2^63 */
    double ns = (double)since_ns;
    if (s->o.speedup != 0 && ns / s->o.speedup > (double)(FILE_SOURCE_MAX_NS - s->base_ns))
        return -ERANGE;
    int64_t delta_ns = s->o.speedup == 0   ? 0
                       : s->o.speedup == 1 ? (int64_t)since_ns
                                           : (int64_t)(ns / s->o.speedup + 0.5);
    s->new_file = false;
    s->last_ns = time_ns;
    s->arrival_ns = s->base_ns + delta_ns;
    *arrival_ns = s->arrival_ns;
    return 0;
}

bool file_source_samples(const struct file_source *s)
{
    return s->o.sample > 0 && s->o.sample < 1;
}

bool file_source_keeps(struct file_source *s, const void *name, size_t len)
{
    if (!file_source_samples(s))
        return true;
    s->place = s->place_cycle == s->cycles ? s->place + 1 : 1;
    s->place_cycle = s->cycles;
    uint64_t hash = name ? hash_64(name, len) : hash_64(&s->place, sizeof(s->place));
    bool keep = (double)(hash >> 11) * 0x1p-53 < s->o.sample;
    s->kept += keep;
    s->left_out += !keep;
    return keep;
}

int file_source_none(const struct file_source *s, const char *what, struct err *e)
{
    if (s->left_out > 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--config sample", "keeps none of the %llu %ss of %s",
                       (unsigned long long)s->left_out, what, inputs_path(s->in));
    return err_set(e, -EINVAL, ERR_INPUT, inputs_path(s->in), "holds no %s", what);
}

int file_source_refuse_gap(struct file_source *s, const char *why, struct err *e)
{
    if (s->o.max_gap_ns == 0)
        return 0;
    s->o.max_gap_ns = 0;
    return s->o.parser ? opt_refuse(s->o.parser, "max-gap", why, e)
                       : err_set(e, -EINVAL, ERR_INPUT, "--config max_gap", "%s", why);
}

void file_source_cut(struct file_source *s, struct request *r)
{
    int64_t most = s->o.max_context;
    if (most == 0 || r->context_tokens <= most)
        return;
    s->contexts_cut++;
    r->context_tokens = most;
    if (r->blocks && r->block_count > most / r->block_tokens)
        r->block_count = (uint32_t)(most / r->block_tokens);
}

void file_source_note_cuts(const struct file_source *s, const char *what, struct notes *to)
{
    if (s->kept + s->left_out > 0)
        notes_add(to, "%s kept (--config sample): %llu of %llu", what, (unsigned long long)s->kept,
                  (unsigned long long)(s->kept + s->left_out));
    if (s->gaps_cut > 0)
        notes_add(to, "times without a request that were cut (--config max_gap): %llu",
                  (unsigned long long)s->gaps_cut);
    if (s->contexts_cut > 0)
        notes_add(to, "requests whose context was cut (--config max_context): %llu",
                  (unsigned long long)s->contexts_cut);
}

int file_source_bad(const struct file_source *s, uint64_t line, struct err *e, const char *fmt, ...)
{
    char where[320], what[320];
    va_list args;
    snprintf(where, sizeof(where), "%s:%llu", frame_in_name(s->file),
             (unsigned long long)(line > 0 ? line : jsonin_stream_line(s->stream)));
    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    return err_set(e, -EINVAL, ERR_INPUT, where, "%s", what);
}

void file_source_note_skip(struct file_source *s, const struct err *why)
{
    if (s->skips.rows++ == 0)
        s->skips.first = *why;
}

void file_source_draw(struct request *r, struct rng *rng, const struct workload *w,
                      enum trace_qos qos)
{
    enum trace_qos drawn = workload_draw_qos(w, rng);
    r->qos = (uint8_t)(qos != TRACE_NO_QOS ? qos : drawn);
    r->prompt = workload_draw_prompt(w, rng);
}

/* ---- for the tables ---- */

/* The simulator asks for the arrival of a request before it takes the request, and only the row
 * tells the arrival: so one request is read ahead. */
int file_source_peek(struct source *base, int64_t *arrival_ns, struct err *e)
{
    struct file_source *s = (struct file_source *)base;
    if (s->ended)
        return 0;
    int rc = s->ready ? 1 : s->read(s, e);
    s->ready = rc > 0;
    s->ended = rc == 0;
    if (rc > 0 && s->o.clients) {
        s->next.arrival_ns = s->answered_ns;
        rc = s->under_way < s->o.clients;
    }
    if (rc > 0)
        *arrival_ns = s->next.arrival_ns;
    return rc;
}

void file_source_take(struct source *base, struct request *out)
{
    struct file_source *s = (struct file_source *)base;
    *out = s->next;
    s->ready = false;
    s->under_way++;
}

void file_source_done(struct source *base, const struct request *r, int64_t now_ns)
{
    struct file_source *s = (struct file_source *)base;
    (void)r;
    s->under_way--;
    s->answered_ns = now_ns;
}

const struct skips *file_source_skips(const struct source *base)
{
    return &((const struct file_source *)base)->skips;
}

size_t file_source_trace_user(const struct source *base, uint32_t user, char *buf)
{
    (void)base;
    memcpy(buf, "trace_user_", 11);
    return 11 + units_put_u64(buf + 11, user);
}

size_t file_source_dataset_user(const struct source *base, uint32_t user, char *buf)
{
    (void)base;
    memcpy(buf, "dataset_user_", 13);
    return 13 + units_put_u64(buf + 13, user);
}
