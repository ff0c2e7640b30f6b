/* libcurl, loaded when it is first needed. */
#ifndef KVTRACE_REMOTE_S3_LIBRARY_H
#define KVTRACE_REMOTE_S3_LIBRARY_H

#include "lib/base/err.h"

/* Before any other call of libcurl, and before threads that may call it. 0; else negative errno,
 * class ERR_TARGET: it is not here, or lacks what is needed. */
int s3_library_load(struct err *e);

#endif
