#include "supervisor/child_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static int
read_all(int fd, struct buf *out)
{
	ssize_t n;

	do {
		if (buf_reserve(out, 4096) < 0)
			return -EFBIG;
		n = read(fd, out->data + out->len, 4096);
		if (n < 0)
			return -errno;
		out->len += (size_t)n;
	} while (n > 0);
	return 0;
}

static int
read_text(const char *path, struct buf *out)
{
	scoped_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? read_all(fd, out) : -EINVAL;
}

static int
complain(struct buf *errors, const char *path, unsigned int line,
    const char *what, const char *name)
{
	int r = buf_printf(errors, "%s:%u:1: %s%s\n", path, line, what, name);

	return r == -ENOMEM ? r : -EINVAL;
}

/* Whether a release for either architecture could compile the rule. */
static int
check_call(const struct syscall_rule *rule, const char *path,
    struct buf *errors)
{
	static const enum syscall_arch arches[] = {SYSCALL_ARCH_X86_64,
	    SYSCALL_ARCH_AARCH64};
	unsigned int nr;

	for (size_t i = 0; i < sizeof arches / sizeof arches[0]; i++) {
		int r = 0;

		if (rule->arches & arches[i])
			r = compile_number(rule->name, arches[i], &nr);
		if (r == -ENOENT)
			return complain(errors, path, rule->line,
			    "not every architecture has this call: add "
			    "[x86_64] or [aarch64]: ",
			    rule->name);
		if (r < 0)
			return complain(errors, path, rule->line,
			    "no such system call: ", rule->name);
	}
	return 0;
}

static bool
is_last_of_call(const struct syscall_policy *p, size_t i)
{
	for (size_t j = i + 1; j < p->rule_count; j++)
		if (strcmp(p->rules[j].name, p->rules[i].name) == 0)
			return false;
	return true;
}

/* The last rule of a call that says what the default says has no use; a
 * reader would think it had. */
static int
check_useful(const struct syscall_policy *p, size_t i, const char *path,
    struct buf *errors)
{
	const struct syscall_rule *rule = &p->rules[i];

	if (rule->action.kind != p->fallback.kind ||
	    rule->action.errnum != p->fallback.errnum || !is_last_of_call(p, i))
		return 0;
	return complain(errors, path, rule->line,
	    "the default says the same: ", rule->name);
}

static int
check_rules(const struct syscall_policy *p, const char *path,
    struct buf *errors)
{
	int result = 0, r;

	if (!p->has_fallback)
		result = complain(errors, path, 1, "there is no default", "");
	for (size_t i = 0; i < p->rule_count; i++) {
		r = check_call(&p->rules[i], path, errors);
		if (r == 0 && p->has_fallback)
			r = check_useful(p, i, path, errors);
		result = r < 0 ? r : result;
	}
	return result;
}

int
policy_file_load(struct policy_file *f, const char *path, struct buf *errors)
{
	int r, rules;

	buf_init(&f->text, SYSCALL_TEXT_MAX + 4096);
	f->policy = syscall_policy_new();
	if (f->policy == NULL)
		return -ENOMEM;
	r = read_text(path, &f->text);
	if (r < 0) {
		(void)!buf_printf(errors, "%s: cannot be read: %s\n", path,
		    r == -EINVAL ? "not a regular file" : strerror(-r));
		return -EIO;
	}
	r = syscall_text_parse_all((struct bytes){.data = f->text.data,
				       .len = f->text.len},
	    path, f->policy, errors);
	rules = check_rules(f->policy, path, errors);
	return r < 0 ? r : rules;
}

void
policy_file_done(struct policy_file *f)
{
	buf_done(&f->text);
	syscall_policy_free(f->policy);
	f->policy = NULL;
}

/* Of many complaints the first. */
static int
refuse_first(int r, struct buf *errors, struct err *e)
{
	if (errors->len == 0 || buf_put_u8(errors, 0) < 0)
		return err_errno(e, -r, "sandbox.child_policy");
	errors->data[strcspn((char *)errors->data, "\n")] = '\0';
	return err_set(e, EINVAL, "%s", (char *)errors->data);
}

int
child_policy_compile(const char *path, struct compiled **out, struct err *e)
{
	scoped_free struct compiled *made = calloc(1, sizeof *made);
	struct policy_file f;
	scoped_buf errors;
	int r;

	buf_init(&errors, CHILD_POLICY_ERRORS_MAX);
	r = policy_file_load(&f, path, &errors);
	if (r == 0 && made == NULL)
		r = -ENOMEM;
	if (r < 0)
		r = refuse_first(r, &errors, e);
	else
		r = compile_policy(f.policy, compile_arch(), made, e);
	policy_file_done(&f);
	if (r < 0)
		return r;
	*out = made;
	made = NULL;
	return 0;
}
