/* The connections of a remote store, as the kernel sees them: what TCP sent again, and which
 * network interface the packets go through. One thread opens and closes; any thread may ask. */
#ifndef KVTRACE_REMOTE_SOCKETS_H
#define KVTRACE_REMOTE_SOCKETS_H

#include <stdint.h>

#include "lib/tier/tier.h"

struct sockets;

/* For cap connections at once. NULL: no memory. */
struct sockets *sockets_create(unsigned cap);
void sockets_free(struct sockets *s);

/* A connection through door (below TIER_DOORS_MAX) is open; it is about to be closed. */
void sockets_opened(struct sockets *s, int fd, unsigned door);
void sockets_closing(struct sockets *s, int fd);
/* Segments that TCP has sent again on all connections of door so far; -1: not known. Source:
 * tcpi_total_retrans of TCP_INFO, tcp(7). */
int64_t sockets_retransmits(struct sockets *s, unsigned door);

/* Name of the interface that packets to the host go through; "": not known. Looks up the name. */
void sockets_interface(const char *host, unsigned port, char name[TIER_INTERFACE_CAP]);

#endif
