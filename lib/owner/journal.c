/* Appends to the list of a kept store. Records go into one buffer while a thread writes the other.
 * Removals can be written before they happen (journal_flush), so that a list never names what a
 * killed run had removed. */
#include "lib/owner/journal.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/thread/bell.h"
#include "lib/thread/thread.h"

enum {
    BUFFER_RECORDS = 26000, /* 1 MiB */
    BUFFER_BYTES = BUFFER_RECORDS * INVENTORY_RECORD,
    SEGMENTS_MAX = 8, /* more are put together */
    RUNS_KEPT = 1024  /* that the list still knows then */
};
#define RECORDS_DEAD                                                                               \
    UINT64_C(1024) /* beside twice the live ones, before the list is written anew */

struct buffer {
    unsigned char *text;
    size_t len;
};

struct journal {
    struct inventory_store s;
    struct journal_opts o;
    uint32_t segment;     /* that is being written */
    uint64_t at;          /* its length */
    pthread_mutex_t io;   /* one writer at a time; before: */
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t room;
    struct buffer fill, out; /* out: being written, or to be tried again */
    atomic_int failed;
    atomic_bool stop, removes;
    struct bell *bell;
    bool runs;
    pthread_t thread;
};

struct hash128 journal_boot(void)
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    char text[64] = "";
    size_t n = f ? fread(text, 1, sizeof(text), f) : 0;

    if (f)
        fclose(f);
    return hash_128(text, n);
}

/* That this run was here. */
static struct inventory_record own_run(const struct journal *j, uint8_t flags)
{
    return (struct inventory_record){.kind = INVENTORY_RUN,
                                     .name = journal_boot(),
                                     .generation = j->o.first_generation,
                                     .bytes = flags,
                                     .epoch = j->o.epoch};
}

/* ---- segments ---- */

/* Nothing is put or removed in a store that may be another run's. */
static int store_write(struct journal *j, uint32_t segment, uint64_t at, const void *text,
                       size_t len, struct err *e)
{
    return lease_valid(j->o.lease) ? j->s.write(j->s.ctx, segment, at, text, len, e) : -ESTALE;
}

static int store_remove(struct journal *j, uint32_t segment, struct err *e)
{
    return lease_valid(j->o.lease) ? j->s.remove(j->s.ctx, segment, e) : -ESTALE;
}

static int write_head(struct journal *j, uint32_t first, struct err *e)
{
    const struct inventory_record head = {.kind = INVENTORY_HEAD, .generation = first};
    unsigned char text[INVENTORY_RECORD];

    inventory_encode(&head, text);
    return store_write(j, 0, 0, text, sizeof(text), e);
}

/* Appends whole records, in a new segment where this one is full or cannot be appended to. */
static int append(struct journal *j, const unsigned char *text, size_t len, struct err *e)
{
    if (j->at > 0 && (!j->s.appends || j->at + len > j->s.segment_bytes)) {
        if (j->segment % INVENTORY_SEQUENCE == INVENTORY_SEQUENCE - 1)
            return err_set(e, -EFBIG, ERR_OUTPUT, "", "the list of its objects is too long");
        j->segment++;
        j->at = 0;
    }
    /* One that nothing led to so far, as where the head is gone, would be read behind this one. */
    int rc = j->at == 0 ? store_remove(j, j->segment + 1, e) : 0;
    if (rc == 0)
        rc = store_write(j, j->segment, j->at, text, len, e);
    if (rc == 0)
        j->at += len;
    return rc;
}

/* Writes through the buffer out, before and after the run. */
static int add(struct journal *j, const struct inventory_record *r, struct err *e)
{
    int rc = 0;

    if (j->out.len == BUFFER_BYTES) {
        rc = append(j, j->out.text, j->out.len, e);
        j->out.len = 0;
    }
    inventory_encode(r, j->out.text + j->out.len);
    j->out.len += INVENTORY_RECORD;
    return rc;
}

static int add_rest(struct journal *j, struct err *e)
{
    int rc = j->out.len ? append(j, j->out.text, j->out.len, e) : 0;

    j->out.len = 0;
    return rc;
}

static int add_run(struct journal *j, const struct inventory_run *run, struct err *e)
{
    int rc = add(j,
                 &(struct inventory_record){.kind = INVENTORY_RUN,
                                            .name = run->boot,
                                            .generation = run->first_generation,
                                            .bytes = run->flags,
                                            .epoch = run->epoch},
                 e);

    if (rc == 0 && run->ended)
        rc = add(j, &(struct inventory_record){.kind = INVENTORY_END, .epoch = run->epoch}, e);
    return rc;
}

/* The runs that are to stay known. What they left may not all be on the list: incomplete. */
static int add_runs(struct journal *j, const struct inventory *had, bool incomplete, struct err *e)
{
    const struct inventory_run *run;
    unsigned n = inventory_runs(had, &run);
    int rc = 0;

    for (unsigned i = n > RUNS_KEPT ? n - RUNS_KEPT : 0; rc == 0 && i < n; i++) {
        struct inventory_run one = run[i];

        one.flags &= (uint8_t)~INVENTORY_INCOMPLETE;
        one.flags |= incomplete ? INVENTORY_INCOMPLETE : 0;
        one.ended |= j->o.exact;
        rc = add_run(j, &one, e);
    }
    return rc;
}

/* The list anew, in segments behind those of had, which go then. A list that is not whole may name
 * objects that are gone: only its runs stay. */
static int rewrite(struct journal *j, const struct inventory *had, bool trusted, struct err *e)
{
    const struct inventory_entry *entry;
    const uint32_t *segment;
    unsigned n = inventory_segments(had, &segment);
    uint32_t first = j->segment;
    int rc = add_runs(j, had, !trusted || inventory_state(had) == INVENTORY_PARTIAL, e);

    for (size_t pos = 0; rc == 0 && trusted && (entry = inventory_next(had, &pos)) != NULL;) {
        if (entry->listed)
            rc = add(j,
                     &(struct inventory_record){.kind = INVENTORY_PUT,
                                                .name = entry->name,
                                                .generation = entry->generation,
                                                .bytes = entry->bytes,
                                                .epoch = entry->epoch},
                     e);
    }
    if (rc == 0)
        rc = add_rest(j, e);
    if (rc == 0)
        rc = write_head(j, first, e);
    /* In order: those that are left after a kill are behind those that were removed. */
    for (unsigned i = 0; rc == 0 && i < n; i++)
        rc = store_remove(j, segment[i], e);
    return rc;
}

/* Where this run begins to write: behind what is there, or at the beginning again. */
static uint32_t next_segment(const struct inventory *had)
{
    const uint32_t *segment;
    unsigned n = inventory_segments(had, &segment);
    uint32_t last = 0;

    for (unsigned i = 0; i < n; i++) {
        if (segment[i] < INVENTORY_SEQUENCE && segment[i] > last)
            last = segment[i];
    }
    return last < INVENTORY_SEQUENCE / 2 ? last + 1 : 1;
}

static bool has_ranks(const struct inventory *had)
{
    const uint32_t *segment;
    unsigned n = inventory_segments(had, &segment);

    return n > 0 && segment[n - 1] >= INVENTORY_SEQUENCE;
}

/* Killed runs whose list is known to be right are as good as those that ended in order. Later
 * nobody could tell: the host may have been started anew. */
static int end_runs(struct journal *j, const struct inventory *had, struct err *e)
{
    const struct inventory_run *run;
    unsigned n = inventory_runs(had, &run);
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < n; i++) {
        if (!run[i].ended)
            rc =
                add(j, &(struct inventory_record){.kind = INVENTORY_END, .epoch = run[i].epoch}, e);
    }
    return rc;
}

/* Segments of a process, from one on. Returns how many there were, or negative errno. */
static int remove_strays(struct journal *j, uint32_t from, struct err *e)
{
    unsigned char byte;

    for (int n = 0;; n++) {
        ssize_t had = j->s.read(j->s.ctx, from + (uint32_t)n, 0, &byte, 1, e);

        if (had == -ENOENT)
            return n;
        int rc = had < 0 && had != -EISNAM ? (int)had : store_remove(j, from + (uint32_t)n, e);
        if (rc < 0)
            return rc;
    }
}

/* Removes segments that no head and no other segment leads to, as where one before them is gone. */
static int remove_all_strays(struct journal *j, struct err *e)
{
    int n = remove_strays(j, j->segment, e);

    for (uint32_t rank = 1; n >= 0 && (rank == 1 || n > 0); rank++)
        n = remove_strays(j, rank * INVENTORY_SEQUENCE, e);
    return n < 0 ? n : 0;
}

/* Continues the list that is there before the run, writes it anew, or begins one. */
static int begin(struct journal *j, struct err *e)
{
    const struct inventory *had = j->o.had;
    const struct inventory_record run = own_run(j, 0);
    const uint32_t *segment;
    int rc = 0;

    j->segment = j->o.rank ? j->o.rank * INVENTORY_SEQUENCE : had ? next_segment(had) : 1;
    if (had) {
        enum inventory_state state = inventory_state(had);
        uint64_t dead = inventory_records(had) - inventory_objects(had);

        if (state == INVENTORY_NONE || state == INVENTORY_DAMAGED)
            rc = remove_all_strays(j, e);
        if (rc < 0)
            return rc;
        if (state == INVENTORY_DAMAGED || state == INVENTORY_CUT || has_ranks(had) ||
            (state != INVENTORY_NONE && !j->o.trusted) ||
            dead > 2 * inventory_objects(had) + RECORDS_DEAD ||
            inventory_segments(had, &segment) > SEGMENTS_MAX)
            rc = rewrite(j, had, j->o.trusted, e);
        else if (state != INVENTORY_NONE && j->o.exact)
            rc = end_runs(j, had, e);
    }
    if (rc == 0 && j->at > 0) { /* the run's own segment begins with it */
        j->segment++;
        j->at = 0;
    }
    if (rc == 0)
        rc = add(j, &run, e);
    return rc == 0 ? add_rest(j, e) : rc;
}

/* ---- while the run goes on ---- */

/* The store does not take the list, so it would soon say what is not so: only that this run was
 * here is left of it. */
static void give_up(struct journal *j, int why)
{
    const struct inventory_record run = own_run(j, INVENTORY_INCOMPLETE | INVENTORY_REMOVES);
    uint32_t last = j->segment;
    int rc = 0;

    atomic_store(&j->failed, why);
    j->out.len = 0;
    if (j->o.rank == 0) {
        j->segment = last + 1;
        j->at = 0;
        rc = add(j, &run, NULL);
        rc = rc ? rc : add_rest(j, NULL);
        if (rc == 0)
            rc = write_head(j, j->segment, NULL);
    }
    /* Without a head, or with one that leads nowhere, the rest says nothing. */
    for (uint32_t i = j->o.rank * INVENTORY_SEQUENCE; i <= last; i++) {
        if (i > 0 || rc < 0)
            (void)store_remove(j, i, NULL);
    }
}

static void take_batch(struct journal *j)
{
    pthread_mutex_lock(&j->lock);
    if (j->out.len == 0) {
        struct buffer empty = j->out;

        j->out = j->fill;
        j->fill = empty;
        pthread_cond_broadcast(&j->room);
    }
    pthread_mutex_unlock(&j->lock);
}

/* Under io. A batch that the store did not take is tried again first. */
static int write_batches(struct journal *j)
{
    int rc = 0;

    for (unsigned i = 0; i < 2 && rc == 0; i++) {
        take_batch(j);
        if (j->out.len == 0)
            break;
        rc = append(j, j->out.text, j->out.len, NULL);
        if (rc == 0)
            j->out.len = 0;
    }
    return rc;
}

static int flush(struct journal *j, bool last_try)
{
    int rc = atomic_load(&j->failed);

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&j->io);
    rc = write_batches(j);
    pthread_mutex_lock(&j->lock);
    bool full = j->fill.len == BUFFER_BYTES;
    pthread_mutex_unlock(&j->lock);
    if (rc < 0 && (full || last_try)) {
        give_up(j, rc);
        pthread_mutex_lock(&j->lock);
        pthread_cond_broadcast(&j->room);
        pthread_mutex_unlock(&j->lock);
    }
    pthread_mutex_unlock(&j->io);
    return rc;
}

int journal_flush(struct journal *j)
{
    return flush(j, true);
}

static void *journal_main(void *arg)
{
    struct journal *j = arg;

    for (;;) {
        uint32_t seen = bell_seen(j->bell);

        if (atomic_load(&j->stop))
            return NULL;
        bell_wait(j->bell, seen, clock_now_ns() + j->o.flush_ns);
        (void)flush(j, false);
    }
}

static void note(struct journal *j, const struct inventory_record *r)
{
    bool half;

    pthread_mutex_lock(&j->lock);
    while (j->fill.len == BUFFER_BYTES && atomic_load(&j->failed) == 0) {
        bell_ring(j->bell);
        pthread_cond_wait(&j->room, &j->lock);
    }
    if (atomic_load(&j->failed) == 0) {
        inventory_encode(r, j->fill.text + j->fill.len);
        j->fill.len += INVENTORY_RECORD;
    }
    half = j->fill.len == BUFFER_BYTES / 2;
    pthread_mutex_unlock(&j->lock);
    if (half)
        bell_ring(j->bell);
}

void journal_put(struct journal *j, const struct inventory_record *r)
{
    struct inventory_record put = *r;

    put.kind = INVENTORY_PUT;
    note(j, &put);
}

bool journal_gone(struct journal *j, struct hash128 name)
{
    bool first = !atomic_exchange(&j->removes, true);

    if (first) {
        const struct inventory_record run = own_run(j, INVENTORY_REMOVES);
        note(j, &run);
    }
    note(j, &(struct inventory_record){.kind = INVENTORY_GONE, .name = name});
    return first || j->s.local;
}

int journal_failed(const struct journal *j)
{
    return atomic_load(&j->failed);
}

/* ---- opening and closing ---- */

static void journal_free(struct journal *j)
{
    pthread_mutex_destroy(&j->io);
    pthread_mutex_destroy(&j->lock);
    pthread_cond_destroy(&j->room);
    bell_free(j->bell);
    free(j->fill.text);
    free(j->out.text);
    free(j);
}

int journal_open(struct journal **out, const struct journal_opts *o, struct err *e)
{
    struct journal *j = calloc(1, sizeof(*j));
    int rc;

    if (!j)
        return err_nomem(e, "list of objects");
    j->s = *o->store;
    j->o = *o;
    pthread_mutex_init(&j->io, NULL);
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->room, NULL);
    j->bell = bell_create();
    j->fill.text = malloc(BUFFER_BYTES);
    j->out.text = malloc(BUFFER_BYTES);
    rc = j->bell && j->fill.text && j->out.text ? begin(j, e) : err_nomem(e, "list of objects");
    j->o.had = NULL; /* it may be freed now */
    if (rc == 0 && (rc = thread_start(&j->thread, journal_main, j)) < 0)
        thread_refused(e, rc, "a thread for the list of objects");
    if (rc < 0) {
        journal_free(j);
        return rc;
    }
    j->runs = true;
    *out = j;
    return 0;
}

/* A store that cannot be appended to has many segments now: they become few. */
static int put_together(struct journal *j, struct err *e)
{
    struct inventory *all = NULL;
    const uint32_t *segment;
    int rc = 0;

    if (j->s.appends || j->o.rank > 0)
        return 0;
    rc = inventory_read(&all, &j->s, e);
    if (rc == 0 && inventory_state(all) == INVENTORY_WHOLE && !has_ranks(all) &&
        inventory_segments(all, &segment) > SEGMENTS_MAX) {
        j->segment = next_segment(all);
        j->at = 0;
        rc = rewrite(j, all, true, e);
    }
    inventory_free(all);
    return rc;
}

int journal_close(struct journal *j, bool keep, struct err *e)
{
    const struct inventory_record end = {.kind = INVENTORY_END, .epoch = j ? j->o.epoch : 0};
    int rc = 0;

    if (!j)
        return 0;
    atomic_store(&j->stop, true);
    bell_ring(j->bell);
    if (j->runs)
        pthread_join(j->thread, NULL);
    if (keep) {
        note(j, &end);
        rc = flush(j, true);
        if (rc == 0)
            rc = put_together(j, NULL);
    }
    if (rc < 0)
        err_errno(e, rc, ERR_OUTPUT, "", "the list of kept objects could not be written");
    journal_free(j);
    return rc;
}
