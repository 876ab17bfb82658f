/*
 * Every byte that libwebsockets receives passes here first. The library calls
 * recv(2) through the dynamic symbol, and sallyport-net exports one of that
 * name (recv.c), so framewatch sees the frames before the library does.
 */
#ifndef NET_SOCKET_WATCH_H
#define NET_SOCKET_WATCH_H

#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct connection;

/* Make the table of sockets, for descriptors below fd_max. Returns 0 or
 * -ENOMEM. */
must_use int socket_watch_init(size_t fd_max);
void socket_watch_done(void);

/* fd carries that connection from now on. Returns 0, or -ERANGE if fd is not
 * below fd_max. */
must_use int socket_watch_set(int fd, struct connection *c);
/* fd carries none any more. */
void socket_watch_clear(int fd);

/*
 * What recv is to answer after the kernel gave len bytes of fd: len, or fewer
 * when a frame broke a rule, the connection then being closed with 1002; 0
 * means that nothing of them may be passed on, as always once our close frame
 * was sent.
 */
size_t socket_watch_filter(int fd, const void *data, size_t len);

#endif
