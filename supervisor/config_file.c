#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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
	enum config_level level;
	const char *name; /* one of config's files */
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
	p->config->at = (struct config_place){.file = p->name, .line = p->line};
	if (config_set(p->config, p->level, section, key, value, &e) < 0)
		complain(p, e.text);
	return 1;
}

int
config_parse(struct config *c, const char *name, struct bytes text,
    struct buf *errors)
{
	return config_parse_at(c, CONFIG_FILE, name, text, errors);
}

int
config_parse_at(struct config *c, enum config_level level, const char *name,
    struct bytes text, struct buf *errors)
{
	struct parse p = {.config = c, .level = level, .errors = errors};
	int r = list_add(&c->files, name, CONFIG_FILES_MAX + 1);

	if (r < 0)
		return r;
	p.name = c->files.items[c->files.count - 1];
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
	c->at = (struct config_place){0};
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

static int
complain_file(struct buf *errors, const char *path, const char *what)
{
	size_t from = errors->len;
	int r = buf_printf(errors, "%s: %s\n", path, what);

	tame(errors, from);
	return r == -ENOMEM ? r : -EINVAL;
}

int
config_load(struct config *c, enum config_level level, const char *path,
    struct buf *errors)
{
	struct err e = {0};
	scoped_buf text;

	buf_init(&text, CONFIG_FILE_MAX + 4096);
	if (read_file(path, &text, &e) < 0)
		return complain_file(errors, path, e.text);
	return config_parse_at(c, level, path,
	    (struct bytes){.data = text.data, .len = text.len}, errors);
}

/* --- drop-ins ------------------------------------------------------------- */

int
config_dropin_path(const char *path, char out[PATH_LEN_MAX])
{
	const char *slash = strrchr(path, '/');
	int len = slash != NULL ? (int)(slash - path) + 1 : 0;
	int n = snprintf(out, PATH_LEN_MAX, "%.*sconf.d", len, path);

	return n < 0 || n >= PATH_LEN_MAX ? -ENAMETOOLONG : 0;
}

static int
is_dropin(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && dot != NULL &&
	       strcmp(dot, ".conf") == 0;
}

static int
compare(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int
load_dropin(struct config *c, const char *dir, const char *name,
    struct buf *errors)
{
	scoped_free char *path = NULL;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return -ENOMEM;
	return config_load(c, CONFIG_DROPIN, path, errors);
}

int
config_load_dropins(struct config *c, const char *path, struct buf *errors)
{
	struct dirent **entries = NULL;
	char dir[PATH_LEN_MAX];
	int count, r = config_dropin_path(path, dir);

	if (r < 0)
		return complain_file(errors, path, "the path is too long");
	count = scandir(dir, &entries, is_dropin, compare);
	if (count < 0)
		return errno == ENOENT
			   ? 0
			   : complain_file(errors, dir, "cannot be read");
	if (count > CONFIG_FILES_MAX - 1)
		r = complain_file(errors, dir, "too many files");
	for (int i = 0; i < count; i++) {
		int one = count < CONFIG_FILES_MAX
			      ? load_dropin(c, dir, entries[i]->d_name, errors)
			      : 0;

		r = one < 0 ? one : r;
		free(entries[i]);
	}
	free(entries);
	return r;
}
