#include "supervisor/audit_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/limits.h"

/* For the rest of a line whose beginning standard error has taken. */
#define STDERR_WAIT_MS 100

static const char *const output_names[] = {
    [AUDIT_NONE] = "none",
    [AUDIT_FILE] = "file",
    [AUDIT_STDERR] = "stderr",
    [AUDIT_SOCKET] = "socket",
};

const char *
audit_output_name(enum audit_output output)
{
	return output_names[output];
}

static const char *
base_of(const char *path)
{
	return strrchr(path, '/') + 1;
}

/* --- reading the end of a file -------------------------------------------- */

/* The same file as we write, or one that was put in its place since? */
static bool
is_same(int a, int b)
{
	struct stat one, other;

	return fstat(a, &one) == 0 && fstat(b, &other) == 0 &&
	       one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* Of the file that is written by write_fd and has our name. */
static int
read_tail(const struct audit_sink *s, int write_fd, size_t len, struct buf *out)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
	scoped_fd fd = openat(s->dir_fd, base_of(s->path), flags);
	struct stat st;
	ssize_t n = 1;
	off_t at;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!is_same(fd, write_fd))
		return -ESTALE;
	at = st.st_size > (off_t)len ? st.st_size - (off_t)len : 0;
	len = (size_t)(st.st_size - at);
	if (buf_reserve(out, len) < 0)
		return -ENOMEM;
	while (len > 0 && n > 0) {
		n = pread(fd, out->data + out->len, len, at);
		if (n < 0)
			return -errno;
		out->len += (size_t)n;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int
audit_sink_tail(const struct audit_sink *s, size_t len, struct buf *out)
{
	return s->output == AUDIT_FILE ? read_tail(s, s->fd, len, out) : 0;
}

/* What a writer that was cut off has left behind the last newline, up to one
 * line's length. */
static int
measure_torn(const struct audit_sink *s, int fd, size_t *torn)
{
	const uint8_t *end;
	scoped_buf tail;
	int r;

	buf_init(&tail, 256u * 1024u);
	r = read_tail(s, fd, tail.max, &tail);
	if (r < 0)
		return r;
	end = tail.len > 0 ? memrchr(tail.data, '\n', tail.len) : NULL;
	*torn =
	    end == NULL ? tail.len : tail.len - (size_t)(end - tail.data) - 1;
	return 0;
}

/* --- opening -------------------------------------------------------------- */

/* Nobody else may have it open for writing, or have written it before. */
static int
check_file(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_errno(e, errno, "audit file %.100s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL,
		    "audit file %.100s: not a regular file", path);
	if (st.st_uid != geteuid() || (st.st_mode & 037) != 0)
		return err_set(e, EPERM,
		    "audit file %.100s: must be ours, mode 0600 or 0640", path);
	if (st.st_nlink != 1)
		return err_set(e, EMLINK,
		    "audit file %.100s: has another name too", path);
	return 0;
}

static int
open_file(struct audit_sink *s, struct err *e)
{
	int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW |
		    O_NOCTTY | O_NONBLOCK;
	scoped_fd fd = openat(s->dir_fd, base_of(s->path), flags, 0600);
	size_t torn;
	int r;

	if (fd < 0)
		return err_errno(e, errno, "audit file %.100s", s->path);
	r = check_file(fd, s->path, e);
	if (r < 0)
		return r;
	r = measure_torn(s, fd, &torn);
	if (r < 0)
		return err_errno(e, -r, "audit file %.100s", s->path);
	fd_close(&s->fd);
	s->fd = fd_take(&fd);
	s->torn = torn;
	s->ended = false;
	return 0;
}

static int
open_directory(struct audit_sink *s, struct err *e)
{
	char copy[PATH_LEN_MAX];
	int n = snprintf(copy, sizeof copy, "%s", s->path);

	if (n < 0 || (size_t)n >= sizeof copy || base_of(s->path)[0] == '\0')
		return err_set(e, EINVAL, "audit file %.100s: no file's name",
		    s->path);
	s->dir_fd = open(dirname(copy), O_PATH | O_DIRECTORY | O_CLOEXEC);
	return s->dir_fd < 0 ? err_errno(e, errno, "audit file %.100s", s->path)
			     : 0;
}

static int
open_socket(struct audit_sink *s, struct err *e)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t len = strlen(s->path);
	scoped_fd fd = -1;

	if (len >= sizeof to.sun_path)
		return err_set(e, ENAMETOOLONG,
		    "audit socket %.64s: longer than %zu bytes", s->path,
		    sizeof to.sun_path - 1);
	memcpy(to.sun_path, s->path, len);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof to) < 0)
		return err_errno(e, errno, "audit socket %.100s", s->path);
	fd_close(&s->fd);
	s->fd = fd_take(&fd);
	return 0;
}

int
audit_sink_open(struct audit_sink *s, enum audit_output output,
    const char *path, struct err *e)
{
	int r;

	*s = (struct audit_sink){.output = output, .fd = -1, .dir_fd = -1};
	/* A limit on the size of files is an error of one write, no more. */
	(void)signal(SIGXFSZ, SIG_IGN);
	if (path != NULL && (s->path = strdup(path)) == NULL)
		return err_set(e, ENOMEM, "out of memory");
	switch (output) {
	case AUDIT_FILE:
		r = open_directory(s, e);
		return r < 0 ? r : open_file(s, e);
	case AUDIT_SOCKET:
		return open_socket(s, e);
	case AUDIT_STDERR:
		s->fd = STDERR_FILENO;
		return 0;
	case AUDIT_NONE:
		break;
	}
	return 0;
}

int
audit_sink_reopen(struct audit_sink *s, struct err *e)
{
	if (s->output == AUDIT_FILE)
		return open_file(s, e);
	return s->output == AUDIT_SOCKET ? open_socket(s, e) : 0;
}

void
audit_sink_close(struct audit_sink *s)
{
	if (s->output != AUDIT_STDERR)
		fd_close(&s->fd);
	s->fd = -1;
	fd_close(&s->dir_fd);
	free(s->path);
	s->path = NULL;
}

/* --- writing -------------------------------------------------------------- */

/* All of data, or a negative errno with how much of it was written. */
static int
write_file(int fd, struct bytes data, size_t *done)
{
	ssize_t n = 1;

	for (*done = 0; *done < data.len && n > 0; *done += (size_t)n) {
		do
			n = write(fd, data.data + *done, data.len - *done);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			return -errno;
	}
	return *done == data.len ? 0 : -EIO;
}

/* Take back what was written of a line. An append-only file of the filesystem
 * (chattr +a) does not allow it: then the next line begins with a newline. */
static void
take_back(struct audit_sink *s, size_t done)
{
	struct stat st;

	if (done == 0)
		return;
	if (fstat(s->fd, &st) == 0 && st.st_size >= (off_t)done &&
	    ftruncate(s->fd, st.st_size - (off_t)done) == 0)
		return;
	s->torn = done;
	s->ended = false;
}

static int
to_file(struct audit_sink *s, struct bytes line)
{
	static const struct bytes newline = {(const uint8_t *)"\n", 1};
	size_t done;
	int r = 0;

	if (s->torn > 0 && !s->ended)
		r = write_file(s->fd, newline, &done);
	if (r < 0)
		return r;
	s->ended = s->torn > 0;
	r = write_file(s->fd, line, &done);
	if (r < 0) {
		take_back(s, done);
		return r;
	}
	s->torn = 0;
	s->ended = false;
	return 0;
}

static bool
has_room(int fd, int wait_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, wait_ms) == 1 && (p.revents & POLLOUT) != 0;
}

/* In pieces that a pipe with room takes at once: whoever started us may never
 * read what we write, and signals are still to be attended to. */
static int
to_stderr(struct audit_sink *s, struct bytes line)
{
	size_t done = 0;
	ssize_t n = 0;

	while (done < line.len && n >= 0) {
		size_t left = line.len - done;

		if (!has_room(s->fd, done == 0 ? 0 : STDERR_WAIT_MS)) {
			errno = EAGAIN;
			break;
		}
		if (s->torn > 0 && done == 0 && write(s->fd, "\n", 1) == 1)
			s->torn = 0;
		n = write(s->fd, line.data + done,
		    left > PIPE_BUF ? PIPE_BUF : left);
		done += n > 0 ? (size_t)n : 0;
	}
	if (done == line.len)
		return 0;
	s->torn += done;
	return -errno;
}

/* Its reader may have started anew. */
static int
to_socket(struct audit_sink *s, struct bytes line)
{
	for (int i = 0; i < 2; i++) {
		if (send(s->fd, line.data, line.len, MSG_NOSIGNAL) >= 0)
			return 0;
		if (errno != ECONNREFUSED && errno != ENOTCONN)
			return -errno;
		if (i == 0 && open_socket(s, NULL) < 0)
			return -ECONNREFUSED;
	}
	return -ECONNREFUSED;
}

int
audit_sink_write(struct audit_sink *s, struct bytes line)
{
	switch (s->output) {
	case AUDIT_FILE:
		return to_file(s, line);
	case AUDIT_STDERR:
		return to_stderr(s, line);
	case AUDIT_SOCKET:
		return to_socket(s, line);
	case AUDIT_NONE:
		break;
	}
	return 0;
}
