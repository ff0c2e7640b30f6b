/* Beside storage_thread.c, which moves the bytes: the calls around that for an object that is a
 * file, and the way through the extents of one that lies in a slab. Calls go through the engine
 * like I/Os, so that creating one file does not hold up the others. */
#include "lib/tier/storage_object.h"

#include <errno.h>

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
    op->device_ns = 0;
    if (p->files)
        op->status = layout_files_name(p->files, op->name, write, &ob->name);
    else
        ob->next_extent = (uint32_t)(uintptr_t)op->place;
    if (op->status < 0)
        ob->stage = STORAGE_DONE;
}

static bool is_wanted(const struct storage_object *ob, const struct storage_policy *p,
                      enum storage_stage stage)
{
    const struct tier_op *op = ob->op;
    bool written = op->verb == TIER_WRITE && op->status == 0;

    switch (stage) {
    case STORAGE_OPEN:
        return p->files && op->verb != TIER_DELETE;
    case STORAGE_ALLOCATE:
        /* ext4 runs direct writes in parallel only where they neither move the end of the file nor
         * fill a hole, else one after another under the inode's lock. One chunk has no others. */
        return p->files && written && ob->bytes > p->chunk_bytes &&
               ob->bytes != (uint64_t)(uintptr_t)op->place;
    case STORAGE_MOVE:
        return op->status == 0 && ob->bytes > 0;
    case STORAGE_SYNC: /* only clean pages can be dropped */
        return written && (p->sync_objects || p->buffered);
    case STORAGE_DROP:
        return p->buffered && (ob->opened || !p->files);
    case STORAGE_CLOSE:
        return ob->opened;
    case STORAGE_REMOVE: /* a failed write leaves nothing that looks like an object */
        return p->files && (op->verb == TIER_DELETE ||
                            (ob->opened && (op->verb == TIER_READ ? op->drop : op->status < 0)));
    case STORAGE_DONE:
        break;
    }
    return true;
}

/* The file behind place is as large as when it was written; a file that place does not know of
 * (left by an earlier run) may have any size. */
static int open_flags(const struct storage_object *ob, const struct storage_policy *p)
{
    uint64_t had = (uint64_t)(uintptr_t)ob->op->place;

    return layout_files_flags(p->files, ob->op->verb == TIER_WRITE, had == 0 || had > ob->bytes);
}

static void fill_call(struct storage_object *ob, const struct storage_policy *p)
{
    static const enum io_call call[] = {
        [STORAGE_OPEN] = IO_OPENAT, [STORAGE_ALLOCATE] = IO_ALLOCATE,
        [STORAGE_SYNC] = IO_SYNC,   [STORAGE_DROP] = IO_DROP,
        [STORAGE_CLOSE] = IO_CLOSE, [STORAGE_REMOVE] = IO_UNLINKAT};

    ob->call = (struct io_req){.call = call[ob->stage],
                               .fd = ob->fd,
                               .slot = ob->slot,
                               .buf_index = -1,
                               .offset = ob->bytes,
                               .dirfd = ob->name.dirfd,
                               .path = ob->name.text,
                               .owner = ob};
    if (ob->stage == STORAGE_OPEN)
        ob->call.flags = open_flags(ob, p);
}

/* A file's place tells how large it is; a slab's space is the tier's to allocate and release. */
static void object_end(const struct storage_object *ob, const struct storage_policy *p)
{
    struct tier_op *op = ob->op;

    if (!p->files)
        return;
    if (op->verb == TIER_WRITE)
        op->place = op->status == 0 ? (void *)(uintptr_t)ob->bytes : NULL;
    else if (op->verb == TIER_DELETE || op->drop)
        op->place = NULL;
}

enum storage_stage storage_object_next(struct storage_object *ob, const struct storage_policy *p)
{
    while (!is_wanted(ob, p, ob->stage))
        ob->stage++;
    if (ob->stage == STORAGE_DONE)
        object_end(ob, p);
    else if (ob->stage != STORAGE_MOVE)
        fill_call(ob, p);
    return ob->stage;
}

void storage_object_called(struct storage_object *ob)
{
    int result = ob->call.result;

    switch (ob->stage) {
    case STORAGE_OPEN:
        ob->opened = result == 0;
        ob->fd = ob->call.fd;
        break;
    case STORAGE_ALLOCATE: /* not all file systems can: the writes will */
        if (result == -EOPNOTSUPP || result == -ENOSYS)
            result = 0;
        break;
    case STORAGE_DROP: /* advice */
        result = 0;
        break;
    default: /* network file systems report failed writes when a file is closed */
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

void storage_object_fill(const struct storage_object *ob, const struct io_req *r, uint64_t at)
{
    data_fill(r->buf, r->len, &ob->op->id, at / DATA_BLOCK);
}

/* The first fault in the object wins, in whatever order chunks are checked. */
static void op_fault(struct tier_op *op, const struct data_fault *fault)
{
    if (op->status == -EBADMSG && op->fault.offset <= fault->offset)
        return;
    if (op->status == 0 || op->status == -EBADMSG) {
        op->status = -EBADMSG;
        op->fault = *fault;
    }
}

void storage_object_check(const struct storage_object *ob, const struct io_req *r, uint64_t at)
{
    struct tier_op *op = ob->op;
    uint64_t block = at / DATA_BLOCK;
    struct data_fault fault;
    int ret;

    if (op->verify == TIER_VERIFY_FULL)
        ret = data_check_full(r->buf, r->len, &op->id, block, &fault);
    else
        ret = data_check_headers(r->buf, r->len, &op->id, block, &fault);
    if (ret < 0)
        op_fault(op, &fault);
}
