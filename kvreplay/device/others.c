/* Beside the scheduler, which looks now and then: the difference of the devices' counters and the
 * process's own runs up and down with what is in flight, so only its highest values so far count as
 * others' bytes. */
#include "kvreplay/device/others.h"

#include "lib/facts/judge.h"

#define OTHERS_BYTES ((uint64_t)1 << 20) /* in an interval; less is a journal */

static bool read_sample(const struct others *o, struct others_sample *s, int64_t now_ns)
{
    struct target_counters c;
    struct machine m;

    if (target_devices_count(o->device, o->n, &c) < 0)
        return false;
    machine_read_io(&m);
    *s = (struct others_sample){.now_ns = now_ns,
                                .own_read = m.read_bytes,
                                .own_write = m.write_bytes,
                                .device_read = c.read_bytes,
                                .device_write = c.write_bytes};
    return m.io_known;
}

void others_begin(struct others *o, const struct target_device *const *device, unsigned n)
{
    struct others_sample s;

    *o = (struct others){.device = device, .n = n};
    if (n > 0 && read_sample(o, &s, 0))
        others_take(o, &s);
}

/* How far the devices are ahead of this process since the beginning. */
static int64_t ahead(uint64_t device, uint64_t device_first, uint64_t own, uint64_t own_first)
{
    return (int64_t)(device - device_first) - (int64_t)(own - own_first);
}

bool others_take(struct others *o, const struct others_sample *s)
{
    struct others_sample before = o->last;

    o->last = *s;
    if (!o->known) {
        o->first = *s;
        o->known = true;
        return false;
    }
    int64_t read = ahead(s->device_read, o->first.device_read, s->own_read, o->first.own_read);
    int64_t write = ahead(s->device_write, o->first.device_write, s->own_write, o->first.own_write);
    uint64_t more = 0, own = s->own_read - before.own_read + s->own_write - before.own_write;
    if (read > o->read) {
        more += (uint64_t)(read - o->read);
        o->read = read;
    }
    if (write > o->write) {
        more += (uint64_t)(write - o->write);
        o->write = write;
    }
    return more >= OTHERS_BYTES && (double)more > JUDGE_FOREIGN_SHARE * (double)own;
}

bool others_look(struct others *o, int64_t now_ns, bool always, bool *foreign)
{
    struct others_sample s;

    if (!o->known || (!always && now_ns - o->looked_ns < OTHERS_EVERY_NS))
        return false;
    o->looked_ns = now_ns;
    if (!read_sample(o, &s, now_ns)) {
        o->known = false;
        return false;
    }
    *foreign = others_take(o, &s);
    return true;
}

uint64_t others_read(const struct others *o)
{
    return (uint64_t)o->read;
}

uint64_t others_wrote(const struct others *o)
{
    return (uint64_t)o->write;
}

double others_own(const struct others *o)
{
    return (double)(o->last.own_read - o->first.own_read) +
           (double)(o->last.own_write - o->first.own_write);
}
