/* Beside run.c, for a run of several ranks: they compare settings before the run, start together,
 * and hear of each other while the run lasts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvreplay/run.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"

int replay_agree(const struct replay *r, int rc, struct err *e)
{
    return r->in->rank ? ranks_agree(r->in->rank->ranks, rc, e) : rc;
}

int replay_check_ranks(const struct replay *r, struct err *e)
{
    const char *id = r->o->run_id;
    struct ranks *ranks = r->in->rank ? r->in->rank->ranks : NULL;

    if (!ranks)
        return 0;
    int rc = ranks_same(ranks, hash_128(id, strlen(id)), "version or options", e);
    if (rc == 0 && !r->o->own_traces)
        rc = ranks_same(ranks, r->trace_hash, "the trace", e);
    return rc;
}

int replay_compare_claims(struct replay *r, struct err *e)
{
    const struct room *need = &r->survey.room[TRACE_STORAGE];
    struct claim claim[SPREAD_MAX];

    if (!r->in->rank)
        return 0;
    for (unsigned i = 0; i < r->targets.count; i++) {
        const struct room *of = r->targets.count > 1 && r->surveyed ? &need->target[i] : need;
        dev_t place = 0;
        if (!r->o->shared_target)
            (void)target_file_system(r->targets.path[i], &place); /* the opening tells why not */
        claim[i] = (struct claim){.place = r->o->shared_target ? i : (uint64_t)place,
                                  .bytes = of->peak + of->peak_objects * DATA_BLOCK};
    }
    return claims_compare(r->in->rank->ranks, r->o->shared_target, claim, r->targets.count,
                          r->others, e);
}

void replay_hash_trace(struct replay *r)
{
    enum {
        END = 65536
    };
    const char *digest = trace_digest(r->trace);
    struct {
        off_t size;
        char head[END], tail[END];
    } * ends;

    r->trace_hash = hash_128(digest, strlen(digest));
    if (digest[0] || !(ends = calloc(1, sizeof(*ends))))
        return;
    FILE *f = fopen(r->in->trace, "re");
    if (f && fread(ends->head, 1, END, f) == END && fseeko(f, -END, SEEK_END) == 0 &&
        fread(ends->tail, 1, END, f) > 0)
        ends->size = ftello(f);
    if (f)
        fclose(f);
    r->trace_hash = hash_128(ends, sizeof(*ends));
    free(ends);
}

int replay_start_with_others(struct replay *r, bool stopping, int64_t *zero_ns, struct err *e)
{
    struct replay_rank *rank = r->in->rank;
    int rc = stop_signal() ? -EINTR : stopping ? -ECANCELED : 0;

    if (rc == -ECANCELED && !e->what[0]) /* else it says why */
        err_set(e, rc, ERR_FAILED, "", "the run ended before its start");
    r->joined = true;
    rc = ranks_agree(rank->ranks, rc, e);
    if (rc == 0)
        rc = ranks_measure(rank->ranks, &rank->offset, e);
    if (rc == 0)
        rc = ranks_choose_start(rank->ranks, &rank->offset, zero_ns, e);
    if (rc < 0)
        return rc;
    ranks_go_on(rank->ranks);
    rank->started = true;
    rank->started_ns = *zero_ns;
    while (clock_now_ns() < *zero_ns && !stop_signal())
        clock_sleep_until(*zero_ns, 0);
    rank->late_ns = clock_now_ns() - *zero_ns;
    return 0;
}

static void replay_tell_lost(struct replay *r, unsigned lost)
{
    struct ranks *ranks = r->in->rank->ranks;
    const struct part *own = &r->o->part;
    char silence[32];

    units_format_duration(silence, sizeof(silence), (double)r->o->lost_after_ns);
    progress_clear(r->progress);
    if (own->rank == 0)
        fprintf(stderr,
                "kvreplay%s: rank %u on %s was not heard of for %s: the others go on without it\n",
                ranks_suffix(), lost, ranks_host(ranks, lost), silence);
    else
        fprintf(
            stderr,
            "kvreplay%s: rank %u on %s: rank %u on %s was not heard of for %s: this rank goes on "
            "alone\n",
            ranks_suffix(), own->rank, own->host, lost, ranks_host(ranks, lost), silence);
}

void replay_listen(struct replay *r, struct sched *s, int64_t now)
{
    unsigned by, lost;

    if (!r->in->rank || now < r->listen_ns)
        return;
    r->listen_ns = now + UNITS_NS_PER_S;
    if (ranks_stopped(r->in->rank->ranks, &by))
        sched_interrupt(s);
    while (ranks_next_lost(r->in->rank->ranks, &lost))
        replay_tell_lost(r, lost);
}
