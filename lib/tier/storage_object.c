/* One object of the storage tier: the calls around the moving of its bytes, and the way
 * through its extents in a slab. Calls go through the I/O engine as I/Os do, so that creating one
 * file does not hold up the others; storage_thread.c submits both. */
#include "lib/tier/storage_object.h"

#include <errno.h>

#include "lib/base/clock.h"
#include "lib/layout/place.h"

/* Length of the file that is written over; 0: there is none. */
static uint64_t file_bytes(const struct tier_op *op)
{
    return place_epoch(op->place) ? 0 : place_bytes(op->place);
}

/* Whether the object lies elsewhere afterwards, or nowhere: a file that is written over in its
 * whole length stays where it is. */
static bool moves(const struct storage_object *ob, const struct storage_policy *p)
{
    const struct tier_op *op = ob->op;

    switch (op->verb) {
    case TIER_READ:
        return op->drop;
    case TIER_WRITE:
        return !p->files || file_bytes(op) != ob->bytes;
    default:
        return true;
    }
}

void storage_object_recall(struct tier_op *op, const struct storage_policy *p)
{
    op->where.known = op->verb == TIER_READ && op->size > 0 && p->where &&
                      storage_where_get(p->where, op->name, DATA_PADDED(op->size), &op->where);
}

void storage_object_begin(struct storage_object *ob, const struct storage_policy *p,
                          struct tier_op *op, int slot)
{
    bool write = op->verb == TIER_WRITE;

    *ob = (struct storage_object){.op = op,
                                  .stage = STORAGE_OPEN,
                                  .fd = p->files ? slot : p->slab_fd,
                                  .slot = p->files && slot >= 0,
                                  .bytes = op->verb == TIER_DELETE ? 0 : DATA_PADDED(op->size)};
    op->status = 0;
    op->fault.kind = DATA_FAULT_NONE;
    if (moves(ob, p))
        storage_where_forget(p->where, op->name);
    if (p->files) {
        int64_t begin_ns = clock_now_ns(); /* its folder may have to be made */

        op->status =
            layout_files_name(p->files, op->name, write ? NULL : op->place, write, &ob->name);
        op->part.meta_ns += clock_now_ns() - begin_ns;
    } else {
        ob->next_extent = (uint32_t)(uintptr_t)op->place;
    }
    if (op->status < 0)
        ob->stage = STORAGE_DONE;
}

static bool needs_stage(const struct storage_object *ob, const struct storage_policy *p)
{
    const struct tier_op *op = ob->op;
    bool written = op->verb == TIER_WRITE && op->status == 0;

    switch (ob->stage) {
    case STORAGE_CLEAR:
        return ob->occupied;
    case STORAGE_OPEN:
        return p->files && op->verb != TIER_DELETE;
    case STORAGE_ALLOCATE:
        /* ext4 runs direct writes side by side only if they neither move the end of the file nor
         * fill a hole; others wait for each other at the inode's lock. A single chunk has no
         * others. */
        return p->files && written && ob->bytes > p->chunk_bytes && ob->bytes != file_bytes(op);
    case STORAGE_MOVE:
        return op->status == 0 && ob->bytes > 0;
    case STORAGE_SYNC: /* only clean pages can be dropped */
        return written && (p->sync_objects || p->buffered);
    case STORAGE_DROP:
        return p->buffered && (ob->opened || !p->files);
    case STORAGE_CLOSE:
        return ob->opened;
    case STORAGE_RETIRE:
        return p->files && written && place_epoch(op->place);
    case STORAGE_REMOVE: /* a failed write leaves nothing that looks like an object */
        return p->files && (op->verb == TIER_DELETE ||
                            (ob->opened && (op->verb == TIER_READ ? op->drop : op->status < 0)));
    case STORAGE_DONE:
        break;
    }
    return true;
}

/* Where the bytes that were moved lie on the disk: before the file is closed, which may be removed
 * next. */
static void find_where(const struct storage_object *ob, const struct storage_policy *p)
{
    uint32_t pos = (uint32_t)(uintptr_t)ob->op->place;
    struct disk_where *w = &ob->op->where;
    uint64_t left = ob->bytes;
    struct extent x;

    if (w->known)
        return;
    w->known = p->files ? ob->opened && !ob->slot : true;
    if (w->known && p->where && storage_where_get(p->where, ob->op->name, ob->bytes, w))
        return;
    if (p->files && w->known)
        disk_map_add(&p->map, ob->fd, 0, ob->bytes, w);
    for (; !p->files && left > 0 && extent_walk(p->space, &pos, &x); left -= x.len) {
        x.len = x.len < left ? x.len : left;
        disk_map_add(&p->map, p->slab_fd, p->slab_begin + x.offset, x.len, w);
    }
    if (p->where && (ob->op->verb == TIER_WRITE || !ob->op->drop))
        storage_where_put(p->where, ob->op->name, ob->bytes, w);
}

enum storage_stage storage_object_next(struct storage_object *ob, const struct storage_policy *p)
{
    static const enum io_call call[] = {
        [STORAGE_CLEAR] = IO_UNLINKAT,    [STORAGE_OPEN] = IO_OPENAT,
        [STORAGE_ALLOCATE] = IO_ALLOCATE, [STORAGE_SYNC] = IO_SYNC,
        [STORAGE_DROP] = IO_DROP,         [STORAGE_CLOSE] = IO_CLOSE,
        [STORAGE_RETIRE] = IO_UNLINKAT,   [STORAGE_REMOVE] = IO_UNLINKAT};
    struct tier_op *op = ob->op;
    bool write = op->verb == TIER_WRITE;

    while (!needs_stage(ob, p))
        ob->stage++;
    if (ob->stage == STORAGE_MOVE)
        return STORAGE_MOVE;
    if (op->where.wanted && ob->stage >= STORAGE_CLOSE && !ob->placed) {
        ob->placed = true;
        if (op->status == 0 && ob->bytes > 0)
            find_where(ob, p);
        else
            op->where.known = false;
    }
    if (ob->stage == STORAGE_DONE && op->status < 0)
        storage_where_forget(p->where, op->name);
    if (ob->stage == STORAGE_DONE) { /* a slab's space is the tier's to release */
        if (p->files && write && op->status == 0)
            op->place = place_of(ob->bytes, 0);
        else if (p->files && write &&
                 !place_epoch(op->place)) /* else the old file is still there */
            op->place = NULL;
        else if (p->files && ob->removed) /* else it is still to be removed, by its name */
            op->place = NULL;
        return STORAGE_DONE;
    }
    if (ob->stage == STORAGE_RETIRE)
        layout_files_name(p->files, op->name, op->place, false, &ob->old);
    ob->call = (struct io_req){.call = call[ob->stage],
                               .fd = ob->fd,
                               .slot = ob->slot,
                               .buf_index = -1,
                               .offset = ob->bytes,
                               .dirfd = ob->name.dirfd,
                               .path = ob->stage == STORAGE_RETIRE ? ob->old.text : ob->name.text,
                               .owner = ob};
    if (ob->stage == STORAGE_OPEN) {
        uint64_t had = file_bytes(op);

        ob->call.flags = layout_files_flags(p->files, !write            ? LAYOUT_FILES_READ
                                                      : had == 0        ? LAYOUT_FILES_NEW
                                                      : had > ob->bytes ? LAYOUT_FILES_CUT
                                                                        : LAYOUT_FILES_OLD);
    }
    return ob->stage;
}

void storage_object_called(struct storage_object *ob)
{
    struct tier_parts *part = &ob->op->part;
    int64_t took_ns = ob->call.done_ns - ob->call.start_ns;
    int result = ob->call.result;

    /* Pages are dropped for the sake of the measurement: no storage would do it. */
    if (ob->stage == STORAGE_SYNC)
        part->flush_ns += took_ns;
    else if (ob->stage != STORAGE_DROP)
        part->meta_ns += took_ns;
    switch (ob->stage) {
    case STORAGE_CLEAR:
    case STORAGE_RETIRE: /* a folder in the place of an old file is not ours */
        result = result == -ENOENT || result == -EISDIR ? 0 : result;
        break;
    case STORAGE_OPEN:
        /* The name may be that of a kept object of another size, or of a link to somebody's file:
         * it is removed, and never written to. */
        if (result == -EEXIST && !ob->occupied) {
            ob->occupied = true;
            ob->stage = STORAGE_CLEAR;
            return;
        }
        ob->opened = result == 0;
        ob->fd = ob->call.fd;
        break;
    case STORAGE_ALLOCATE: /* where the file system cannot, the writes take the space */
        if (result == -EOPNOTSUPP || result == -ENOSYS)
            result = 0;
        break;
    case STORAGE_DROP: /* advice */
        result = 0;
        break;
    case STORAGE_REMOVE:
        ob->removed = result == 0 || result == -ENOENT;
        ob->torn = ob->op->verb == TIER_WRITE && result < 0 && result != -ENOENT;
        break;
    default: /* closing too: network file systems report failed writes then */
        break;
    }
    if (ob->op->status == 0)
        ob->op->status = result;
    ob->stage++;
}

void storage_object_chunk(struct storage_object *ob, const struct storage_policy *p,
                          struct io_req *r)
{
    uint64_t left = ob->bytes - ob->issued;
    uint64_t len = left < p->chunk_bytes ? left : p->chunk_bytes;

    r->fd = ob->fd;
    r->slot = ob->slot;
    r->write = ob->op->verb == TIER_WRITE;
    r->offset = ob->issued;
    if (!p->files) {
        if (ob->rest.len == 0)
            extent_walk(p->space, &ob->next_extent, &ob->rest);
        len = len < ob->rest.len ? len : ob->rest.len;
        r->offset = p->slab_begin + ob->rest.offset;
        ob->rest.offset += len;
        ob->rest.len -= len;
    }
    r->len = (uint32_t)len;
    ob->issued += len;
}

void storage_object_check(const struct storage_object *ob, const struct io_req *r, uint64_t at)
{
    struct tier_op *op = ob->op;
    uint64_t block = at / DATA_BLOCK;
    struct data_fault fault;
    int rc;

    if (op->verify == TIER_VERIFY_FULL)
        rc = data_check_full(r->buf, r->len, &op->id, block, &fault);
    else
        rc = data_check_headers(r->buf, r->len, &op->id, block, &fault);
    /* Chunks arrive in any order; the fault nearest to the object's beginning is reported. */
    if (rc < 0 && (op->status == 0 || (op->fault.kind && fault.offset < op->fault.offset))) {
        op->status = -EBADMSG;
        op->fault = fault;
    }
}
