#include "http/hosts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>

#define BLANKS " \t\r"

int
hosts_read(struct hosts *h, const char *path)
{
	scoped_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;
	int r;

	buf_init(&h->text, HOSTS_TEXT_MAX);
	r = buf_reserve(&h->text, HOSTS_TEXT_MAX);
	while (fd >= 0 && r == 0 && n > 0 && h->text.len < HOSTS_TEXT_MAX) {
		n = read(fd, h->text.data + h->text.len,
		    HOSTS_TEXT_MAX - h->text.len);
		if (n > 0)
			h->text.len += (size_t)n;
	}
	return r;
}

void
hosts_done(struct hosts *h)
{
	buf_done(&h->text);
}

/* The next word of line from *at on; it ends before *at. */
static struct bytes
next_word(struct bytes line, size_t *at)
{
	struct bytes word = {0};

	while (*at < line.len && strchr(BLANKS, line.data[*at]) != NULL)
		(*at)++;
	word.data = line.data + *at;
	while (*at < line.len && strchr(BLANKS, line.data[*at]) == NULL) {
		(*at)++;
		word.len++;
	}
	return word;
}

static bool
is_address(struct bytes word, struct http_address *out)
{
	char text[INET6_ADDRSTRLEN];

	if (word.len >= sizeof text)
		return false;
	memcpy(text, word.data, word.len);
	text[word.len] = '\0';
	out->len = 4;
	if (inet_pton(AF_INET, text, out->bytes) == 1)
		return true;
	out->len = 16;
	return inet_pton(AF_INET6, text, out->bytes) == 1;
}

/* Whether line, without its comment, gives name an address. */
static bool
is_about(struct bytes line, const char *name, struct http_address *out)
{
	size_t at = 0, len = strlen(name);
	struct bytes word = next_word(line, &at);

	if (!is_address(word, out))
		return false;
	for (;;) {
		word = next_word(line, &at);
		if (word.len == 0)
			return false;
		if (word.len == len &&
		    strncasecmp((const char *)word.data, name, len) == 0)
			return true;
	}
}

static size_t
length_to(const uint8_t *text, size_t len, int end)
{
	const uint8_t *at = memchr(text, end, len);

	return at == NULL ? len : (size_t)(at - text);
}

size_t
hosts_find(const struct hosts *h, const char *name, struct http_address *out,
    size_t max)
{
	size_t found = 0, at = 0;

	while (at < h->text.len && found < max) {
		const uint8_t *text = h->text.data + at;
		size_t len = length_to(text, h->text.len - at, '\n');
		struct bytes line = {.data = text,
		    .len = length_to(text, len, '#')};

		if (is_about(line, name, &out[found]))
			found++;
		at += len + 1;
	}
	return found;
}
