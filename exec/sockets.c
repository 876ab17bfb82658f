#include "exec/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "exec/view.h"

/* Bytes of a line: some numbers and a path of sockaddr_un. */
#define LINE_SIZE 512

/* Columns before the inode, and before the path: address, counts, protocol,
 * flags, type, state, inode. */
#define INODE_COLUMN 6
#define PATH_COLUMN  7

/* Write path without "//", "." and "..", which bind(2) keeps as they were
 * given. False if it does not fit, as none of a socket can. */
static bool
straighten(const char *path, char out[LINE_SIZE])
{
	size_t used = 0;

	while (*path != '\0') {
		size_t len = strcspn(path += strspn(path, "/"), "/");

		if (len == 2 && memcmp(path, "..", 2) == 0) {
			while (used > 0 && out[--used] != '/')
				;
		} else if (len > 1 || (len == 1 && *path != '.')) {
			if (used + len + 2 > LINE_SIZE)
				return false;
			out[used++] = '/';
			memcpy(out + used, path, len);
			used += len;
		}
		path += len;
	}
	out[used] = '\0';
	return true;
}

bool
sockets_are_own(const struct exec_config *c, const char *name)
{
	char path[LINE_SIZE];
	static const char *const own[] = {"/run", "/dev", "/proc", "/tmp"};
	size_t count = sizeof own / sizeof own[0];

	/* What is covered under the preset open keeps the host's /tmp. */
	if (c->preset == PRESET_OPEN)
		count--;
	if (!straighten(name, path))
		return false;
	for (size_t i = 0; i < count; i++)
		if (view_is_below(path, own[i]))
			return true;
	for (size_t i = 0; i < c->workspace_count; i++)
		if (view_is_below(path, c->workspaces[i].path))
			return true;
	return false;
}

/* Whether len bytes, a line without its newline, are about a foreign one. */
static bool
is_foreign(const struct exec_config *c, const char *line, size_t len)
{
	char copy[LINE_SIZE];
	const char *path;

	if (len >= sizeof copy)
		return true;
	memcpy(copy, line, len);
	copy[len] = '\0';
	path = sockets_path(copy);
	return path != NULL && !sockets_are_own(c, path);
}

/* Of the lines that are whole behind *at, keep those that count. */
static void
keep_foreign(const struct exec_config *c, struct buf *text, size_t *at)
{
	char *data = (char *)text->data, *end;
	size_t next = *at;

	while ((end = memchr(data + next, '\n', text->len - next)) != NULL) {
		size_t len = (size_t)(end - data) - next;

		if (is_foreign(c, data + next, len)) {
			memmove(data + *at, data + next, len + 1);
			*at += len + 1;
		}
		next += len + 1;
	}
	memmove(data + *at, data + next, text->len - next);
	text->len -= next - *at;
}

int
sockets_read(const struct exec_config *c, struct buf *text, struct err *e)
{
	size_t at = text->len;
	scoped_fd fd = open("/proc/self/net/unix", O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;

	if (fd < 0)
		return err_errno(e, errno, "list of sockets");
	while (n > 0) {
		char part[4096];

		n = read(fd, part, sizeof part);
		if (n < 0 && errno != EINTR)
			return err_errno(e, errno, "list of sockets");
		if (n <= 0)
			continue;
		if (buf_put(text, part, (size_t)n) < 0)
			return err_set(e, EMSGSIZE, "far too many sockets");
		keep_foreign(c, text, &at);
	}
	return 0;
}

static const char *
column(const char *line, int n)
{
	for (int i = 0; i < n; i++) {
		line += strcspn(line, " ");
		line += strspn(line, " ");
	}
	return line;
}

const char *
sockets_path(const char *line)
{
	line = column(line, PATH_COLUMN);
	return line[0] == '/' ? line : NULL;
}

void
sockets_init(struct sockets *s)
{
	*s = (struct sockets){0};
	buf_init(&s->text, SOCKETS_TEXT_MAX + 1);
}

void
sockets_done(struct sockets *s)
{
	buf_done(&s->text);
	free(s->rows);
	s->rows = NULL;
	s->count = 0;
}

static int
compare(const void *a, const void *b)
{
	const struct sockets_row *x = a, *y = b;

	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

static uint64_t
inode_of(const char *line)
{
	const char *at = column(line, INODE_COLUMN);
	uint64_t ino = 0;

	for (; *at >= '0' && *at <= '9'; at++)
		ino = ino * 10 + (uint64_t)(*at - '0');
	return ino;
}

/* Take the rows of a list, whose last line is ended by a NUL. */
static int
parse(struct sockets *s)
{
	char *at = (char *)s->text.data, *line;
	size_t lines = 1;

	for (size_t i = 0; i < s->text.len; i++)
		lines += s->text.data[i] == '\n';
	lines = lines < SOCKETS_MAX ? lines : SOCKETS_MAX;
	s->rows = calloc(lines, sizeof *s->rows);
	if (s->rows == NULL)
		return -ENOMEM;
	while ((line = strsep(&at, "\n")) != NULL) {
		const char *path = sockets_path(line);

		if (path == NULL)
			continue;
		if (s->count == SOCKETS_MAX)
			return -E2BIG;
		s->rows[s->count++] =
		    (struct sockets_row){.ino = inode_of(line),
			.since = s->generation,
			.name = (size_t)(path - (const char *)s->text.data)};
	}
	qsort(s->rows, s->count, sizeof *s->rows, compare);
	return 0;
}

/* What was there before is as old as it was. */
static void
keep_ages(struct sockets *now, const struct sockets *before)
{
	for (size_t i = 0, k = 0; i < now->count; i++) {
		while (
		    k < before->count && before->rows[k].ino < now->rows[i].ino)
			k++;
		if (k < before->count &&
		    before->rows[k].ino == now->rows[i].ino)
			now->rows[i].since = before->rows[k].since;
	}
}

int
sockets_refresh(struct sockets *s, const struct exec_config *c, int64_t now_ms)
{
	struct sockets now;
	int r;

	if (s->generation > 0 && now_ms - s->read_ms < SOCKETS_MAX_AGE_MS)
		return 0;
	sockets_init(&now);
	now.generation = s->generation + 1;
	now.read_ms = now_ms;
	r = sockets_read(c, &now.text, NULL);
	if (r == 0)
		r = buf_put_u8(&now.text, 0);
	if (r == 0)
		r = parse(&now);
	if (r < 0) {
		sockets_done(&now);
		return r;
	}
	keep_ages(&now, s);
	sockets_done(s);
	*s = now;
	return 0;
}

int
sockets_after(const struct sockets *s, uint32_t generation, const char ***out)
{
	size_t n = 0;

	*out = NULL;
	for (size_t i = 0; i < s->count; i++)
		n += s->rows[i].since > generation;
	if (n == 0)
		return 0;
	*out = calloc(n + 1, sizeof **out);
	if (*out == NULL)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < s->count; i++)
		if (s->rows[i].since > generation)
			(*out)[n++] =
			    (const char *)s->text.data + s->rows[i].name;
	return 0;
}
