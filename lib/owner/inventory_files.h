/* The list of a kept store in a folder: its segments are files beside the marker. */
#ifndef KVTRACE_OWNER_INVENTORY_FILES_H
#define KVTRACE_OWNER_INVENTORY_FILES_H

#include "lib/owner/inventory.h"

struct inventory_files;

/* In the folder dirfd, which stays the caller's. where: for messages; copied. NULL: no memory. */
struct inventory_files *inventory_files_open(int dirfd, const char *where);
void inventory_files_close(struct inventory_files *f);
const struct inventory_store *inventory_files_store(const struct inventory_files *f);

#endif
