/* engine_summary.c - the words for the counts of engine_run.h and copy_rows.h. */
#include "kvgen/serve/engine_summary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/units.h"

enum {
    COLUMNS = 80 /* of a line; the summary cuts what is longer */
};

static const char *const time_names[ENGINE_TIMES] = {"waiting", "loading", "prefill", "decode",
                                                     "preempted"};

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static uint64_t prompt_tokens(const struct copy_rows_stats *c)
{
    return c->found_tokens[TRACE_GPU] + c->found_tokens[TRACE_CPU] +
           c->found_tokens[TRACE_STORAGE] + c->computed_tokens;
}

static uint64_t time_in_all(const struct engine_run_stats *st)
{
    uint64_t ns = 0;
    for (int i = 0; i < ENGINE_TIMES; i++)
        ns += (uint64_t)st->time_ns[i];
    return ns;
}

/* Prompts of mean length that the blocks of all GPUs hold at once. */
static double prompts_that_fit(const struct engine_summary *s)
{
    const struct engine_run_stats *st = engine_run_stats(s->run);
    const uint64_t prompts = engine_run_sim_stats(s->run)->issued - st->too_long;
    return st->prompt_tokens && prompts ? (double)st->room_tokens * engine_run_engines(s->run) /
                                              ((double)st->prompt_tokens / (double)prompts)
                                        : 0;
}

uint64_t engine_summary_capacity(const struct engine_summary *s, enum trace_tier tier)
{
    const uint64_t one = s->capacity[tier];
    const bool shared = tier == TRACE_STORAGE && engine_choice_shares(s->choice);
    return one == HIERARCHY_UNLIMITED || one == HIERARCHY_ABSENT || shared
               ? one
               : one * engine_run_engines(s->run);
}

/* ---- lines ---- */

static bool line_tokens(const struct engine_summary *s, char *buf)
{
    const struct copy_rows_stats *c = engine_run_copies(s->run);
    const uint64_t all = prompt_tokens(c);
    if (!all)
        return false;
    snprintf(buf, ENGINE_SUMMARY_TEXT,
             "cache      %s%s%s: GPU %.1f %%, host %.1f, files %.1f, computed %.1f",
             engine_choice_name(s->choice), engine_choice_version(s->choice) ? " " : "",
             engine_choice_version(s->choice) ? engine_choice_version(s->choice) : "",
             percent(c->found_tokens[TRACE_GPU], all), percent(c->found_tokens[TRACE_CPU], all),
             percent(c->found_tokens[TRACE_STORAGE], all), percent(c->computed_tokens, all));
    return true;
}

static bool line_copies(const struct engine_summary *s, char *buf)
{
    const struct copy_rows_stats *c = engine_run_copies(s->run);
    const struct copy_rows_tier *lowest =
        &c->tier[s->capacity[TRACE_STORAGE] ? TRACE_STORAGE : TRACE_CPU];
    char bytes[32], stored[32], refused[48] = "", files[32];
    const uint64_t host_refused = c->tier[TRACE_CPU].refused;
    if (!c->tier[TRACE_CPU].stored)
        return false;
    units_format_bytes(bytes, sizeof(bytes), (double)c->tier[TRACE_CPU].stored_bytes);
    units_format_count(stored, sizeof(stored), lowest->stored);
    units_format_count(files, sizeof(files), host_refused + c->tier[TRACE_STORAGE].refused);
    if (host_refused + c->tier[TRACE_STORAGE].refused)
        snprintf(refused, sizeof(refused), ", %s refused", files);
    snprintf(buf, ENGINE_SUMMARY_TEXT, "stores     %s to host; %s %s, %.0f %% never read%s", bytes,
             stored, s->capacity[TRACE_STORAGE] ? "files" : "copies",
             percent(lowest->never_read + lowest->unread, lowest->stored), refused);
    return true;
}

/* Copies of several blocks that begin before a window lack these, as in the engine. */
static bool line_windows(const struct engine_summary *s, char *buf)
{
    const struct copy_rows_stats *c = engine_run_copies(s->run);
    char some[32];
    snprintf(buf, ENGINE_SUMMARY_TEXT,
             "windows    %s blocks before a window are not in their copies",
             units_format_count(some, sizeof(some), c->left_out));
    return c->left_out > 0;
}

/* Whether files have a limit that is not the engine's. */
static bool is_bounded(const struct engine_summary *s)
{
    return engine_choice_fills(s->choice) && engine_run_cache(s->run)->chunks[TRACE_STORAGE];
}

static bool line_files(const struct engine_summary *s, char *buf)
{
    const struct copy_rows_tier *files = &engine_run_copies(s->run)->tier[TRACE_STORAGE];
    const bool clean = engine_run_cache(s->run)->clean;
    char some[32], all[32];
    if (!is_bounded(s) || !(clean ? files->dropped : files->refused))
        return false;
    units_format_count(some, sizeof(some), clean ? files->dropped : files->refused);
    units_format_count(all, sizeof(all), files->stored);
    if (clean)
        snprintf(buf, ENGINE_SUMMARY_TEXT,
                 "files      full: %s of %s written were removed to make room", some, all);
    else
        snprintf(buf, ENGINE_SUMMARY_TEXT,
                 "files      full: %s writes failed (--on-full evict makes room)", some);
    return true;
}

static bool line_steps(const struct engine_summary *s, char *buf)
{
    const struct engine_run_stats *st = engine_run_stats(s->run);
    char steps[32], empty[32], preempted[32], peak[32];
    snprintf(
        buf, ENGINE_SUMMARY_TEXT, "steps      %s, %s empty; %s preemption%s; at most %s at once",
        units_format_count(steps, sizeof(steps), st->steps),
        units_format_count(empty, sizeof(empty), st->empty_steps),
        units_format_count(preempted, sizeof(preempted), st->preemptions),
        units_plural(st->preemptions), units_format_count(peak, sizeof(peak), st->running_peak));
    return true;
}

/* Share of the prompts' tokens that an engine found. */
static double share_found(const struct engine_summary *s, uint32_t engine)
{
    const struct copy_rows_stats *c = engine_run_share_copies(s->run, engine);
    const uint64_t all = prompt_tokens(c);
    return percent(all - c->computed_tokens, all);
}

/* The extremes of several engines. */
static bool line_engines(const struct engine_summary *s, char *buf)
{
    const uint32_t engines = engine_run_engines(s->run);
    const double run_s = (double)engine_run_sim_stats(s->run)->now_ns;
    double found[2] = {100, 0}, busy[2] = {100, 0};
    uint64_t requests[2] = {UINT64_MAX, 0};
    char fewest[32], most[32];
    for (uint32_t i = 0; i < engines; i++) {
        const struct engine_share *g = engine_run_share(s->run, i);
        const double hit = share_found(s, i), load = 100 * (double)g->busy_ns / run_s;
        requests[0] = g->requests < requests[0] ? g->requests : requests[0];
        requests[1] = g->requests > requests[1] ? g->requests : requests[1];
        found[0] = fmin(found[0], hit);
        found[1] = fmax(found[1], hit);
        busy[0] = fmin(busy[0], load);
        busy[1] = fmax(busy[1], load);
    }
    snprintf(buf, ENGINE_SUMMARY_TEXT,
             "engines    %u: %s to %s requests, found %.1f to %.1f %%, busy %.1f to %.1f",
             (unsigned)engines, units_format_count(fewest, sizeof(fewest), requests[0]),
             units_format_count(most, sizeof(most), requests[1]), found[0], found[1], busy[0],
             busy[1]);
    return engines > 1 && run_s > 0;
}

/* Tenths of a percent of each time, which make 1,000 together: those that lose most when they are
 * cut get one more. all is their sum, above 0. */
static void share_time(const int64_t ns[ENGINE_TIMES], uint64_t all, unsigned tenths[ENGINE_TIMES])
{
    double lost[ENGINE_TIMES];
    unsigned left = 1000;
    for (int i = 0; i < ENGINE_TIMES; i++) {
        const double exact = 1000 * (double)ns[i] / (double)all;
        tenths[i] = (unsigned)exact;
        lost[i] = exact - tenths[i];
        left -= tenths[i] < left ? tenths[i] : left;
    }
    for (; left; left--) {
        int most = 0;
        for (int i = 1; i < ENGINE_TIMES; i++)
            most = lost[i] > lost[most] ? i : most;
        tenths[most]++;
        lost[most] = -1;
    }
}

static bool line_time(const struct engine_summary *s, char *buf)
{
    const struct engine_run_stats *st = engine_run_stats(s->run);
    const uint64_t all = time_in_all(st);
    unsigned tenths[ENGINE_TIMES];
    size_t n = (size_t)snprintf(buf, ENGINE_SUMMARY_TEXT, "time      ");
    if (all)
        share_time(st->time_ns, all, tenths);
    for (int i = 0; i < ENGINE_TIMES && all; i++)
        n += (size_t)snprintf(buf + n, ENGINE_SUMMARY_TEXT - n, "%s %s %u.%u%s", i ? "," : "",
                              time_names[i], tenths[i] / 10, tenths[i] % 10, i ? "" : " %");
    return all > 0;
}

/* Share of a class's requests whose first token came within that time. */
static double share_within(const struct hist *h, int64_t most)
{
    size_t pos = 0;
    int64_t lowest, highest;
    uint64_t n, within = 0;
    while (hist_next(h, &pos, &lowest, &highest, &n))
        within += highest <= most ? n : 0;
    return hist_count(h) ? (double)within / (double)hist_count(h) : NAN;
}

static bool put_goodput(const struct engine_summary *s, char *buf, bool targets)
{
    const struct sim_stats *st = engine_run_sim_stats(s->run);
    size_t n = (size_t)snprintf(buf, ENGINE_SUMMARY_TEXT, "in time   ");
    const size_t none = n;
    for (int q = 0; q < TRACE_QOSES; q++) {
        const struct hist *h = st->prefill.first_token_ns[q];
        char target[32];
        if (s->target_ns[q] <= 0 || !hist_count(h))
            continue;
        n += (size_t)snprintf(buf + n, ENGINE_SUMMARY_TEXT - n, "%s %s %.1f %%",
                              n > none ? "," : "", trace_qos_text((enum trace_qos)q),
                              100 * share_within(h, s->target_ns[q]));
        units_format_duration(target, sizeof(target), (double)s->target_ns[q]);
        if (targets)
            n += (size_t)snprintf(buf + n, ENGINE_SUMMARY_TEXT - n, " within %s", target);
    }
    return n > none;
}

/* The targets of three classes do not fit beside the shares; whoever gave them knows them. */
static bool line_goodput(const struct engine_summary *s, char *buf)
{
    const bool any = put_goodput(s, buf, true);
    if (strlen(buf) > COLUMNS)
        put_goodput(s, buf, false);
    return any;
}

/* P95 of the time per token of answers, by class. */
static bool line_per_token(const struct engine_summary *s, char *buf)
{
    size_t n = (size_t)snprintf(buf, ENGINE_SUMMARY_TEXT, "per token  p95");
    const size_t none = n;
    for (int q = 0; q < TRACE_QOSES; q++) {
        const struct hist *h = engine_run_stats(s->run)->token_ns[q];
        char p95[32];
        if (!hist_count(h))
            continue;
        n += (size_t)snprintf(
            buf + n, ENGINE_SUMMARY_TEXT - n, "%s %s %s", n > none ? "," : "",
            units_format_duration(p95, sizeof(p95), (double)hist_percentile(h, 950000)),
            trace_qos_text((enum trace_qos)q));
    }
    return n > none;
}

/* The words for what decides how long a request may be. */
static const char *limit_of_requests(const struct engine_summary *s)
{
    const struct engine_run_stats *st = engine_run_stats(s->run);
    if (st->most_tokens == st->room_tokens)
        return "that the GPU holds";
    return st->most_tokens == engine_run_cache(s->run)->scheduler.max_tokens ? "of max_model_len"
                                                                             : "of a step";
}

/* The line that a user must know: requests that were not served, or why hardly anything hits on the
 * GPU. The blocks that would hit are taken by the requests that run meanwhile. */
static bool line_why(const struct engine_summary *s, char *buf)
{
    const struct engine_run_stats *st = engine_run_stats(s->run);
    const double fit = prompts_that_fit(s);
    if (st->stuck) {
        const bool vain = engine_run_copies(s->run)->tier[TRACE_CPU].wasted > 0;
        snprintf(buf, ENGINE_SUMMARY_TEXT,
                 "note       %llu request%s for ever, as in the engine: %s",
                 (unsigned long long)st->stuck, st->stuck == 1 ? " waits" : "s wait",
                 vain ? "a load exceeds host" : "no room comes free");
        return true;
    }
    if (st->too_long) {
        snprintf(buf, ENGINE_SUMMARY_TEXT,
                 "note       %llu request%s refused: longer than the %llu tokens %s",
                 (unsigned long long)st->too_long, units_plural(st->too_long),
                 (unsigned long long)st->most_tokens, limit_of_requests(s));
        return true;
    }
    const struct copy_rows_stats *c = engine_run_copies(s->run);
    if (fit >= (double)st->waiting_peak || st->waiting_peak < 2 ||
        percent(c->found_tokens[TRACE_GPU], prompt_tokens(c)) > 10)
        return false;
    snprintf(buf, ENGINE_SUMMARY_TEXT,
             "note       %.3g prompts fit on the GPU, %llu were there: they push each other out",
             fit, (unsigned long long)st->waiting_peak);
    return true;
}

bool engine_summary_line(const struct engine_summary *s, size_t i, char *buf)
{
    static bool (*const lines[ENGINE_SUMMARY_LINES])(const struct engine_summary *, char *) = {
        line_tokens,  line_copies, line_windows, line_files,     line_steps,
        line_engines, line_time,   line_goodput, line_per_token, line_why};
    *buf = '\0';
    return i < ENGINE_SUMMARY_LINES && lines[i] && lines[i](s, buf);
}

/* ---- JSON ---- */

static void put_tier(struct jsonout *j, const struct engine_summary *s, enum trace_tier tier)
{
    const struct copy_rows_tier *t = &engine_run_copies(s->run)->tier[tier];
    const struct engine_cache *cache = engine_run_cache(s->run);
    if (!s->capacity[tier])
        return;
    jsonout_object(j, NULL);
    jsonout_text_value(j, "tier", trace_tier_text(tier));
    if (tier == TRACE_GPU)
        jsonout_u64(j, "room", cache->blocks);
    else
        jsonout_u64_if(j, "room", cache->chunks[tier], cache->chunks[tier]);
    jsonout_u64(j, "copy_tokens", tier == TRACE_GPU ? cache->block_tokens : cache->chunk_tokens);
    jsonout_u64(j, "copy_bytes", tier == TRACE_GPU ? cache->block_bytes : cache->chunk_bytes);
    jsonout_u64(j, "stored", t->stored);
    jsonout_u64(j, "stored_bytes", t->stored_bytes);
    jsonout_u64(j, "came_up", t->promoted);
    jsonout_u64(j, "came_up_in_vain", t->wasted);
    jsonout_u64(j, "loaded", t->loaded);
    jsonout_u64(j, "loaded_bytes", t->loaded_bytes);
    jsonout_u64(j, "dropped", t->dropped);
    jsonout_u64(j, "refused", t->refused);
    jsonout_u64(j, "offered_again", t->known);
    jsonout_u64(j, "never_read", t->never_read);
    jsonout_u64(j, "never_read_bytes", t->never_read_bytes);
    jsonout_u64(j, "unread", t->unread);
    jsonout_end(j);
}

static void put_tokens(struct jsonout *j, const struct copy_rows_stats *c)
{
    const uint64_t all = prompt_tokens(c);
    jsonout_object(j, "tokens");
    jsonout_u64(j, "gpu", c->found_tokens[TRACE_GPU]);
    jsonout_u64(j, "host", c->found_tokens[TRACE_CPU]);
    jsonout_u64(j, "storage", c->found_tokens[TRACE_STORAGE]);
    jsonout_u64(j, "computed", c->computed_tokens);
    jsonout_u64(j, "found_after_preemption", c->again_tokens);
    jsonout_f64(j, "hit_rate", all ? (double)(all - c->computed_tokens) / (double)all : NAN);
    jsonout_end(j);
}

static void put_engines(struct jsonout *j, const struct engine_summary *s)
{
    const double run_s = (double)engine_run_sim_stats(s->run)->now_ns;
    jsonout_array(j, "engines");
    for (uint32_t i = 0; i < engine_run_engines(s->run); i++) {
        const struct engine_share *g = engine_run_share(s->run, i);
        jsonout_object(j, NULL);
        jsonout_u64(j, "engine", i);
        jsonout_u64(j, "requests", g->requests);
        jsonout_u64(j, "completed", g->completed);
        jsonout_u64(j, "steps", g->steps);
        jsonout_f64(j, "busy_s", (double)g->busy_ns / 1e9);
        jsonout_f64(j, "busy", run_s > 0 ? (double)g->busy_ns / run_s : NAN);
        jsonout_u64(j, "preemptions", g->preemptions);
        jsonout_u64(j, "running_peak", g->running_peak);
        put_tokens(j, engine_run_share_copies(s->run, i));
        jsonout_hist(j, "first_token_ms", g->first_token_ns, 1e6);
        jsonout_end(j);
    }
    jsonout_end(j);
}

static void put_serving(struct jsonout *j, const struct engine_summary *s)
{
    const struct engine_run_stats *st = engine_run_stats(s->run);
    const uint64_t all = time_in_all(st);
    jsonout_object(j, "serving");
    jsonout_u64(j, "steps", st->steps);
    jsonout_u64(j, "empty_steps", st->empty_steps);
    jsonout_f64(j, "busy_s", (double)st->busy_ns / 1e9);
    jsonout_u64(j, "look_ups", st->look_ups);
    jsonout_u64(j, "admissions", st->admissions);
    jsonout_u64(j, "refused_admissions", st->refused_admissions);
    jsonout_u64(j, "preemptions", st->preemptions);
    jsonout_u64(j, "too_long", st->too_long);
    jsonout_u64(j, "stuck", st->stuck);
    jsonout_u64(j, "running_peak", st->running_peak);
    jsonout_u64(j, "waiting_peak", st->waiting_peak);
    jsonout_f64(j, "prompts_that_fit", prompts_that_fit(s));
    jsonout_u64(j, "held_rows", st->held_rows);
    put_engines(j, s);
    jsonout_object(j, "request_time");
    for (int i = 0; i < ENGINE_TIMES; i++) {
        jsonout_object(j, time_names[i]);
        jsonout_f64(j, "s", (double)st->time_ns[i] / 1e9);
        jsonout_f64(j, "share", all ? (double)st->time_ns[i] / (double)all : NAN);
        jsonout_end(j);
    }
    jsonout_end(j);
    jsonout_object(j, "goodput");
    for (int q = 0; q < TRACE_QOSES; q++) {
        const struct hist *h = engine_run_sim_stats(s->run)->prefill.first_token_ns[q];
        const double share = s->target_ns[q] > 0 ? share_within(h, s->target_ns[q]) : NAN;
        const double run_s = (double)engine_run_sim_stats(s->run)->now_ns / 1e9;
        jsonout_object(j, trace_qos_text((enum trace_qos)q));
        jsonout_f64(j, "target_s", s->target_ns[q] > 0 ? (double)s->target_ns[q] / 1e9 : NAN);
        jsonout_f64(j, "within_target", share);
        jsonout_f64(j, "requests_per_s", share * (double)hist_count(h) / run_s);
        jsonout_end(j);
    }
    jsonout_end(j);
    jsonout_object(j, "time_per_token_ms");
    for (int q = 0; q < TRACE_QOSES; q++)
        jsonout_hist(j, trace_qos_text((enum trace_qos)q), st->token_ns[q], 1e6);
    jsonout_end(j);
    jsonout_end(j);
}

void engine_summary_put(struct jsonout *j, const struct engine_summary *s)
{
    const struct copy_rows_stats *c = engine_run_copies(s->run);
    jsonout_object(j, "cache");
    engine_choice_put(j, s->choice);
    jsonout_text_value(j, "on_full",
                       is_bounded(s) ? engine_run_cache(s->run)->clean ? "evict" : "fail" : NULL);
    put_tokens(j, c);
    jsonout_array(j, "tiers");
    for (int t = 0; t < TRACE_TIERS; t++)
        put_tier(j, s, (enum trace_tier)t);
    jsonout_end(j);
    jsonout_u64(j, "computed_blocks", c->computed);
    jsonout_u64(j, "duplicate_bytes", c->duplicate_bytes);
    jsonout_u64(j, "duplicate_peak_bytes", c->duplicate_peak_bytes);
    jsonout_u64(j, "unbacked_stores", c->unbacked);
    jsonout_u64(j, "left_out_blocks", c->left_out);
    jsonout_end(j);
    put_serving(j, s);
}
