/* Beside the data path of the remote engines. A connection counts for its door when it is closed
 * and, as long as it is open, whenever somebody asks. */
#include "lib/remote/sockets.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct open_socket {
    int fd; /* -1: free */
    unsigned door;
};

struct sockets {
    pthread_mutex_t lock;
    int64_t closed[TIER_DOORS_MAX]; /* segments of connections that are closed */
    bool unknown[TIER_DOORS_MAX];   /* there was a connection that could not be asked */
    unsigned cap;
    struct open_socket open[];
};

struct sockets *sockets_create(unsigned cap)
{
    struct sockets *s = calloc(1, sizeof(*s) + cap * sizeof(s->open[0]));

    if (!s)
        return NULL;
    pthread_mutex_init(&s->lock, NULL);
    s->cap = cap;
    for (unsigned i = 0; i < cap; i++)
        s->open[i].fd = -1;
    return s;
}

void sockets_free(struct sockets *s)
{
    if (!s)
        return;
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* The entry of fd; -1: a free one. NULL: there is none. */
static struct open_socket *find(struct sockets *s, int fd)
{
    for (unsigned i = 0; i < s->cap; i++) {
        if (s->open[i].fd == fd)
            return &s->open[i];
    }
    return NULL;
}

void sockets_opened(struct sockets *s, int fd, unsigned door)
{
    pthread_mutex_lock(&s->lock);
    struct open_socket *o = find(s, -1);
    if (o)
        *o = (struct open_socket){.fd = fd, .door = door};
    else
        s->unknown[door] = true;
    pthread_mutex_unlock(&s->lock);
}

/* TCP retransmissions of a socket, as the kernel counts them; -1: not known. */
static int64_t retransmits(int fd)
{
    struct tcp_info info;
    socklen_t len = sizeof(info);

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0 ||
        len < offsetof(struct tcp_info, tcpi_total_retrans) + sizeof(info.tcpi_total_retrans))
        return -1;
    return info.tcpi_total_retrans;
}

void sockets_closing(struct sockets *s, int fd)
{
    pthread_mutex_lock(&s->lock);
    struct open_socket *o = find(s, fd);
    int64_t count = retransmits(fd);
    if (o && count < 0)
        s->unknown[o->door] = true;
    else if (o)
        s->closed[o->door] += count;
    if (o)
        o->fd = -1;
    pthread_mutex_unlock(&s->lock);
}

int64_t sockets_retransmits(struct sockets *s, unsigned door)
{
    pthread_mutex_lock(&s->lock);
    int64_t sum = s->closed[door];
    bool known = !s->unknown[door];
    for (unsigned i = 0; known && i < s->cap; i++) {
        if (s->open[i].fd < 0 || s->open[i].door != door)
            continue;
        int64_t count = retransmits(s->open[i].fd);
        known = count >= 0;
        sum += count;
    }
    pthread_mutex_unlock(&s->lock);
    return known ? sum : -1;
}

/* ---- the interface ---- */

/* Are these addresses the same, whatever their ports? */
static bool same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET)
        return memcmp(&((const struct sockaddr_in *)(const void *)a)->sin_addr,
                      &((const struct sockaddr_in *)(const void *)b)->sin_addr,
                      sizeof(struct in_addr)) == 0;
    return a->sa_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr,
                  sizeof(struct in6_addr)) == 0;
}

/* The interface with the local address; packets to an address of this host go through loopback. */
static void interface_of(const struct sockaddr *local, const struct sockaddr *peer,
                         char name[TIER_INTERFACE_CAP])
{
    struct ifaddrs *list;

    if (getifaddrs(&list) < 0)
        return;
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        if (i->ifa_addr && same_address(i->ifa_addr, local))
            snprintf(name, TIER_INTERFACE_CAP, "%.15s", i->ifa_name);
    }
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        if (i->ifa_addr && same_address(i->ifa_addr, peer))
            snprintf(name, TIER_INTERFACE_CAP, "lo");
    }
    freeifaddrs(list);
}

void sockets_interface(const char *host, unsigned port, char name[TIER_INTERFACE_CAP])
{
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    char service[16];

    name[0] = '\0';
    snprintf(service, sizeof(service), "%u", port);
    if (getaddrinfo(host, service, &hints, &found) != 0)
        return;
    for (const struct addrinfo *a = found; a && !name[0]; a = a->ai_next) {
        /* Connecting a datagram socket chooses the route and sends nothing. */
        int fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        struct sockaddr_storage local;
        socklen_t len = sizeof(local);
        if (fd < 0)
            continue;
        if (connect(fd, a->ai_addr, a->ai_addrlen) == 0 &&
            getsockname(fd, (struct sockaddr *)&local, &len) == 0)
            interface_of((const struct sockaddr *)&local, a->ai_addr, name);
        close(fd);
    }
    freeaddrinfo(found);
}
