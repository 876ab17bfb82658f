#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ini.h>

#include "supervisor/config.h"

#define SECTION_MAX 48 /* bytes of a section's name; the parser cuts at 49 */
#define BLANKS	    " \t\r\v\f"

/* Where the parser is: it asks for a line and then reports what is in it, so
 * the number of the last line asked for belongs to every report. */
struct parse {
	struct config *config;
	const char *name;
	struct reader text;
	unsigned int line;
	struct buf *errors;
	int result; /* 0, -EINVAL after a complaint, -ENOMEM */
};

/* Text of a file goes to a terminal: nothing in it may move the cursor. */
static void
tame(struct buf *errors, size_t from)
{
	for (size_t i = from; i < errors->len; i++) {
		uint8_t *at = &errors->data[i];

		if ((*at < 0x20 && *at != '\n') || *at == 0x7f)
			*at = '?';
	}
}

/* A complaint past the bound of errors is dropped, the result stays. */
static void
complain(struct parse *p, const char *what)
{
	size_t from = p->errors->len;
	int r = buf_printf(p->errors, "%s:%u: %s\n", p->name, p->line, what);

	tame(p->errors, from);
	p->result = r == -ENOMEM ? r : -EINVAL;
}

static const char *
check_heading(const char *line, size_t len)
{
	if (memchr(line, ']', len) != line + len - 1)
		return "want [section] alone on its line";
	if (len > SECTION_MAX + 2)
		return "the section's name is too long";
	return NULL;
}

/*
 * Why line is none of ours, or NULL. The parser itself takes "[a] b" for
 * "[a]", cuts a section's name that is too long, lets ':' stand for '=' and
 * tells of one bad line only.
 */
static const char *
check_line(const char *line)
{
	size_t len;

	line += strspn(line, BLANKS);
	len = strlen(line);
	while (len > 0 && strchr(BLANKS, line[len - 1]) != NULL)
		len--;
	if (len == 0 || line[0] == '#' || line[0] == ';')
		return NULL;
	if (line[0] == '[')
		return check_heading(line, len);
	if (line[strcspn(line, "=:")] != '=')
		return "neither [section] nor key = value";
	return NULL;
}

/* The parser's fgets(3): the next line without its newline, or NULL. */
static char *
next_line(char *line, int size, void *user)
{
	struct parse *p = user;
	const uint8_t *start = p->text.at, *end;
	size_t len, room = (size_t)size - 1;
	const char *wrong;

	if (p->text.left == 0)
		return NULL;
	p->line++;
	end = memchr(start, '\n', p->text.left);
	len = end != NULL ? (size_t)(end - start) : p->text.left;
	p->text.at += len + (end != NULL);
	p->text.left -= len + (end != NULL);
	line[0] = '\0';
	if (len > room) {
		complain(p, "the line is too long");
		return line;
	}
	if (memchr(start, '\0', len) != NULL) {
		complain(p, "the line holds a NUL byte");
		return line;
	}
	memcpy(line, start, len);
	line[len] = '\0';
	wrong = check_line(line);
	if (wrong != NULL) {
		complain(p, wrong);
		line[0] = '\0';
	}
	return line;
}

static int
on_pair(void *user, const char *section, const char *key, const char *value)
{
	struct parse *p = user;
	struct err e = {0};

	if (section[0] == '\0') {
		complain(p, "a key before the first [section]");
		return 1;
	}
	if (config_set(p->config, CONFIG_FILE, section, key, value, &e) < 0)
		complain(p, e.text);
	return 1;
}

int
config_parse(struct config *c, const char *name, struct bytes text,
    struct buf *errors)
{
	struct parse p = {.config = c, .name = name, .errors = errors};
	int r;

	/* The parser's defaults would cut lines at 200 bytes, take "; text"
	 * off a value and glue an indented line to the one before. */
	ini_use_stack = false;
	ini_initial_alloc = CONFIG_LINE_MAX;
	ini_max_line = CONFIG_LINE_MAX;
	ini_allow_inline_comments = false;
	ini_allow_multiline = false;
	/* A byte order mark, which some editors put in front. */
	if (text.len >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0)
		text = (struct bytes){text.data + 3, text.len - 3};
	reader_init(&p.text, text.data, text.len);
	r = ini_parse_stream(next_line, &p, on_pair, &p);
	if (r == -2)
		return -ENOMEM;
	if (r != 0 && p.result == 0) {
		p.line = (unsigned int)r;
		complain(&p, "neither [section] nor key = value");
	}
	return p.result;
}

/* Returns 0, or a negative errno with e. */
static int
read_file(const char *path, struct buf *out, struct err *e)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	scoped_fd fd = open(path, flags);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, errno, "cannot be read");
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "not a regular file");
	if (st.st_size > CONFIG_FILE_MAX)
		return err_set(e, EFBIG, "larger than %u bytes",
		    CONFIG_FILE_MAX);
	do {
		if (buf_reserve(out, 4096) < 0)
			return err_set(e, EFBIG, "larger than %u bytes",
			    CONFIG_FILE_MAX);
		n = read(fd, out->data + out->len, 4096);
		if (n < 0)
			return err_errno(e, errno, "cannot be read");
		out->len += (size_t)n;
	} while (n > 0);
	return 0;
}

int
config_load(struct config *c, const char *path, struct buf *errors)
{
	struct err e = {0};
	scoped_buf text;
	size_t from = errors->len;

	buf_init(&text, CONFIG_FILE_MAX + 4096);
	if (read_file(path, &text, &e) < 0) {
		int r = buf_printf(errors, "%s: %s\n", path, e.text);

		tame(errors, from);
		return r == -ENOMEM ? r : -EINVAL;
	}
	return config_parse(c, path,
	    (struct bytes){.data = text.data, .len = text.len}, errors);
}
