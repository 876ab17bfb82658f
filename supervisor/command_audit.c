#include "supervisor/command.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "supervisor/audit_verify.h"

/* Exit codes of its own: those of grep and diff. */
enum verdict { VERDICT_WHOLE, VERDICT_BROKEN, VERDICT_UNKNOWN };

static const char usage[] =
    "usage: sallyport audit verify [OPTION]... FILE...\n"
    "\n"
    "Check the chain of audit files (audit.chain), given oldest first.\n"
    "\n"
    "  --key FILE   the key that the chain was made with (audit.key_file)\n"
    "  --head HASH  a hash that must be there, from an audit_chain line of "
    "the\n"
    "               log: without one, lines missing at the end are not seen\n"
    "\n"
    "exit codes: 0 the chain is whole; 1 it is broken, the first such line is\n"
    "named; 2 wrong command line, or a file cannot be read\n";

struct request {
	struct audit_verify verify;
	const char *key;
};

static int
open_log(const char *path, struct err *e)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	scoped_fd fd = open(path, flags);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, errno, "cannot be read");
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "not a regular file");
	return fd_take(&fd);
}

/* A file's name may hold anything. */
static void
say(FILE *out, const char *path, const char *text)
{
	for (; *path != '\0'; path++)
		(void)fputc(*path < 0x20 || *path == 0x7f ? '?' : *path, out);
	(void)fprintf(out, ": %s\n", text);
}

static enum verdict
verify_one(struct audit_verify *v, const char *path)
{
	uint64_t before = v->chain.seq;
	struct err e = {0};
	scoped_fd fd = open_log(path, &e);
	char text[96];
	int r = fd < 0 ? fd : audit_verify_file(v, fd, &e);

	if (r < 0) {
		say(stderr, path, e.text);
		return r == -EBADMSG ? VERDICT_BROKEN : VERDICT_UNKNOWN;
	}
	if (v->line == 0)
		(void)snprintf(text, sizeof text, "empty");
	else
		(void)snprintf(text, sizeof text,
		    "%" PRIu64 " lines, seq %" PRIu64 " to %" PRIu64, v->line,
		    before < v->first ? v->first : before + 1, v->chain.seq);
	say(stdout, path, text);
	return VERDICT_WHOLE;
}

static enum verdict
verify_all(struct audit_verify *v, char **paths)
{
	enum verdict verdict = VERDICT_WHOLE;

	for (; *paths != NULL && verdict == VERDICT_WHOLE; paths++)
		verdict = verify_one(v, *paths);
	if (verdict != VERDICT_WHOLE)
		return verdict;
	if (v->head != NULL) {
		(void)fprintf(stderr,
		    "%s: no line has this hash: lines are missing at the "
		    "end\n",
		    v->head);
		return VERDICT_BROKEN;
	}
	if (v->first > 1)
		(void)printf("lines before seq %" PRIu64
			     " are in files that were not given\n",
		    v->first);
	(void)printf("whole: seq %" PRIu64 " hash %s\n", v->chain.seq,
	    v->chain.hash);
	return VERDICT_WHOLE;
}

/* Returns whether to go on; *verdict is what to exit with otherwise. */
static bool
parse(int argc, char **argv, struct request *q, enum verdict *verdict)
{
	static const struct option longs[] = {
	    {"key", required_argument, NULL, 'k'},
	    {"head", required_argument, NULL, 'H'},
	    {"help", no_argument, NULL, 'h'},
	    {0},
	};
	int option;

	*verdict = VERDICT_UNKNOWN;
	while ((option = getopt_long(argc, argv, "+", longs, NULL)) != -1) {
		if (option == 'k') {
			q->key = optarg;
		} else if (option == 'H') {
			q->verify.head = optarg;
		} else {
			(void)fputs(usage, option == 'h' ? stdout : stderr);
			*verdict =
			    option == 'h' ? VERDICT_WHOLE : VERDICT_UNKNOWN;
			return false;
		}
	}
	if (optind < argc)
		return true;
	(void)fputs(usage, stderr);
	return false;
}

int
command_audit(int argc, char **argv)
{
	struct request q = {0};
	enum verdict verdict;
	struct err e = {0};

	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		(void)fputs(usage, stdout);
		return VERDICT_WHOLE;
	}
	if (argc < 2 || strcmp(argv[1], "verify") != 0) {
		(void)fputs(usage, stderr);
		return VERDICT_UNKNOWN;
	}
	if (!parse(argc - 1, argv + 1, &q, &verdict))
		return (int)verdict;
	audit_chain_init(&q.verify.chain);
	if (q.key != NULL &&
	    audit_chain_read_key(&q.verify.chain, q.key, &e) < 0) {
		(void)fprintf(stderr, "sallyport: %s\n", e.text);
		verdict = VERDICT_UNKNOWN;
	} else {
		verdict = verify_all(&q.verify, argv + 1 + optind);
	}
	audit_chain_done(&q.verify.chain);
	return (int)verdict;
}
