#include "supervisor/report_calls.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/syscall_print.h"
#include "supervisor/process_table.h"

/* The number of a file of that name, which is added if it is new; or a
 * negative errno. */
static int
file_number(struct calls *all, const struct policy_text *text)
{
	struct calls_file *f = &all->files[all->file_count];
	struct err e = {0};
	const char *dot = strrchr(text->name, '.');
	int r;

	for (size_t i = 0; i < all->file_count; i++)
		if (strcmp(all->files[i].name, text->name) == 0)
			return (int)i;
	assert(all->file_count < CALLS_FILES_MAX && dot != NULL);
	f->name = text->name;
	f->text = bytes_of(text->text);
	f->policy = syscall_policy_new();
	if (f->policy == NULL)
		return -ENOMEM;
	(void)snprintf(f->id, sizeof f->id, "%.*s", (int)(dot - text->name),
	    text->name);
	r = syscall_text_parse(bytes_of(text->text), f->policy, &e);
	/* The build has parsed the same bytes. */
	assert(r == 0);
	return (int)all->file_count++;
}

static int
compile(struct calls_filter *f, struct err *e)
{
	scoped_free struct compiled *code = malloc(sizeof *code);
	int r;

	if (code == NULL)
		return err_set(e, ENOMEM, "out of memory");
	r = compile_policy(f->policy, compile_arch(), code, e);
	if (r < 0)
		return r;
	f->instructions = code->len;
	sha256_hex((struct bytes){.data = (const uint8_t *)code->code,
		       .len = code->len * sizeof code->code[0]},
	    f->sha256);
	return 0;
}

static int
add_text(struct calls *all, struct calls_filter *f,
    const struct policy_text *text, struct err *e)
{
	int number = file_number(all, text), r;

	if (number < 0)
		return err_set(e, ENOMEM, "out of memory");
	r = syscall_text_parse(bytes_of(text->text), f->policy, e);
	f->files[f->file_count] = (size_t)number;
	f->ends[f->file_count++] = f->policy->rule_count;
	return r;
}

static int
add_filter(struct calls *all, const struct policy_source *source, struct err *e)
{
	struct calls_filter *f = &all->filters[all->filter_count];
	int r = 0;

	assert(all->filter_count < CALLS_FILTERS_MAX);
	f->role = source->role;
	f->policy = syscall_policy_new();
	if (f->policy == NULL)
		return err_set(e, ENOMEM, "out of memory");
	all->filter_count++;
	for (size_t i = 0;
	     i < POLICY_TEXTS_MAX && source->texts[i].name != NULL && r == 0;
	     i++)
		r = add_text(all, f, &source->texts[i], e);
	return r < 0 ? r : compile(f, e);
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

/* The file of the configuration takes the place of the child's. */
static int
add_custom(struct calls *all, const char *path, struct err *e)
{
	struct calls_filter *f = &all->filters[all->filter_count];
	struct calls_file *file = &all->files[all->file_count];
	scoped_buf errors;
	int r;

	buf_init(&errors, CHILD_POLICY_ERRORS_MAX);
	r = policy_file_load(&all->custom, path, &errors);
	if (r < 0)
		return refuse_first(r, &errors, e);
	*file = (struct calls_file){.name = path,
	    .id = "custom",
	    .text = {all->custom.text.data, all->custom.text.len},
	    .policy = all->custom.policy};
	*f = (struct calls_filter){.role = "child",
	    .policy = all->custom.policy,
	    .files = {all->file_count},
	    .ends = {all->custom.policy->rule_count},
	    .file_count = 1};
	all->file_count++;
	all->filter_count++;
	return compile(f, e);
}

static int
add(struct calls *all, const struct config *c, const struct policy_source *it,
    struct err *e)
{
	if (c->child_policy != NULL && strcmp(it->role, "child") == 0)
		return add_custom(all, c->child_policy, e);
	return add_filter(all, it, e);
}

int
calls_init(struct calls *all, const struct config *c, struct err *e)
{
	int r = 0;

	*all = (struct calls){0};
	for (const struct process_row *p = process_rows;
	     p->name != NULL && r == 0; p++)
		r = add(all, c, policy_source_find(p->name), e);
	for (const struct policy_source *it = policy_sources;
	     it->role != NULL && r == 0; it++)
		if (process_row_find(it->role) == NULL)
			r = add(all, c, it, e);
	return r;
}

void
calls_done(struct calls *all)
{
	const struct syscall_policy *custom = all->custom.policy;

	for (size_t i = 0; i < all->file_count; i++)
		if (all->files[i].policy != custom)
			syscall_policy_free(all->files[i].policy);
	for (size_t i = 0; i < all->filter_count; i++)
		if (all->filters[i].policy != custom)
			syscall_policy_free(all->filters[i].policy);
	policy_file_done(&all->custom);
}

const struct calls_file *
calls_file_of(const struct calls *all, const struct calls_filter *f, size_t i)
{
	size_t n = 0;

	while (n + 1 < f->file_count && i >= f->ends[n])
		n++;
	return &all->files[f->files[n]];
}

bool
calls_rule_counts(const struct calls_filter *f, size_t i)
{
	return (f->policy->rules[i].arches & compile_arch()) != 0 &&
	       !syscall_print_is_hidden(f->policy, i);
}
