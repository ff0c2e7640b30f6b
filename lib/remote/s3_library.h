/* libcurl, loaded when a store is first asked for. */
#ifndef REMOTE_S3_LIBRARY_H
#define REMOTE_S3_LIBRARY_H

#include "lib/base/err.h"

/* Before any of libcurl's functions, and before other threads may call them. As late_load. */
int s3_library_load(struct err *e);

#endif
