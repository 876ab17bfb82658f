#include "policy/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/glob.h"

/* A layer's rule that holds at a node. */
struct level {
	enum plan_access access;
	uint32_t depth;
};

/* A path that a rule of either layer names. */
struct node {
	const struct profile_rule *rule; /* one of those with this path */
	/* The client's rule with this very path that decides, or NULL. */
	const struct profile_rule *client;
	struct level levels[PLAN_LAYERS];
	struct node *parent;	/* NULL: none above */
	struct plan_path *path; /* in the plan; NULL: no access at all */
};

/* A rule and its layer, to be sorted. */
struct item {
	const struct profile_rule *rule;
	enum plan_layer layer;
};

static struct bytes
path_of(const struct profile_rule *rule)
{
	return (struct bytes){.data = (const uint8_t *)rule->path,
	    .len = rule->len};
}

/* By path, with '/' before all other bytes, so that what lies below a
 * directory directly follows it; the stronger of equals last. */
static int
compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	const char *p = x->rule->path, *q = y->rule->path;

	while (*p == *q && *p != '\0') {
		p++;
		q++;
	}
	if (*p == *q)
		return (int)x->rule->access - (int)y->rule->access;
	if (*p == '\0' || *q == '\0')
		return *p == '\0' ? -1 : 1;
	if (*p == '/' || *q == '/')
		return *p == '/' ? -1 : 1;
	return (unsigned char)*p - (unsigned char)*q;
}

static size_t
collect(const struct plan *plan, struct item *items)
{
	size_t n = 0;

	for (unsigned int layer = 0; layer < PLAN_LAYERS; layer++) {
		const struct profile *p = &plan->layers[layer];

		for (size_t i = 0; i < p->count; i++)
			if (!p->rules[i].glob)
				items[n++] = (struct item){&p->rules[i],
				    (enum plan_layer)layer};
	}
	qsort(items, n, sizeof *items, compare_items);
	return n;
}

/* The nearest node above path, looked for from the last one that was made. */
static struct node *
find_parent(struct node *last, struct bytes path)
{
	while (last != NULL && !profile_is_in(path, path_of(last->rule)))
		last = last->parent;
	return last;
}

/* Make nodes of sorted items: equal paths become one. */
static size_t
make_nodes(const struct item *items, size_t count, struct node *nodes)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		const struct profile_rule *rule = items[i].rule;
		struct node *node = n == 0 ? NULL : &nodes[n - 1];

		if (node == NULL || strcmp(node->rule->path, rule->path) != 0) {
			struct node *parent = find_parent(node, path_of(rule));

			node = &nodes[n++];
			*node = (struct node){.rule = rule, .parent = parent};
			if (parent != NULL)
				memcpy(node->levels, parent->levels,
				    sizeof node->levels);
		}
		node->levels[items[i].layer] =
		    (struct level){rule->access, rule->depth};
		if (items[i].layer == PLAN_CLIENT)
			node->client = rule;
	}
	return n;
}

/* Git, and tools of agents, run what lies here: it must not be planted where
 * the client meant it to be read-only. */
static bool
is_planted(struct bytes path)
{
	static const char *const names[] = {".git", ".agents", ".codex"};
	size_t at = path.len;

	while (at > 0 && path.data[at - 1] != '/')
		at--;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (bytes_is((struct bytes){.data = path.data + at,
				 .len = path.len - at},
			names[i]))
			return true;
	return false;
}

/*
 * What is missing matters only where it could be made: in something writable.
 * The client may waive it, except for what its user's programs trust, directly
 * below one of its own writable paths.
 */
static enum plan_missing
missing_of(const struct node *node, const struct plan_path *p)
{
	if (p->around != PLAN_WRITE || p->access == PLAN_WRITE ||
	    node->client == NULL)
		return PLAN_MISSING_IGNORE;
	if (!node->client->skip_missing)
		return PLAN_MISSING_PLACEHOLDER;
	if (node->client->depth == node->parent->rule->depth + 1 &&
	    is_planted(path_of(node->rule)))
		return PLAN_MISSING_PLACEHOLDER;
	return PLAN_MISSING_IGNORE;
}

/* A mask above something that is accessible must let it be reached. */
static void
let_through(const struct node *node)
{
	for (node = node->parent; node != NULL; node = node->parent) {
		if (node->path == NULL || node->path->access != PLAN_DENY)
			continue;
		if (node->path->searched)
			return;
		node->path->searched = true;
	}
}

static bool
is_minimal(const char *path)
{
	for (size_t i = 0; profile_minimal[i] != NULL; i++)
		if (strcmp(profile_minimal[i], path) == 0)
			return true;
	return false;
}

/* What both layers give at a node. Of what is brought a denial counts also if
 * the other layer says nothing of it: it would be there. */
static enum plan_access
access_of(const struct plan *plan, const struct node *node)
{
	enum plan_access client = node->levels[PLAN_CLIENT].access;
	enum plan_access ceiling = node->levels[PLAN_CEILING].access;

	if ((client == PLAN_DENY || ceiling == PLAN_DENY) &&
	    plan_is_brought(plan, path_of(node->rule)))
		return PLAN_DENY;
	return profile_min(client, ceiling);
}

/* The access around a node that is in the plan. What is brought does not have
 * it from the root that it lies in. */
static enum plan_access
around_of(const struct plan *plan, const struct node *node,
    enum plan_access access)
{
	const struct node *parent = node->parent;

	if (parent != NULL && parent->path == NULL)
		parent = NULL;
	if (access == PLAN_DENY && plan_is_brought(plan, path_of(node->rule)) &&
	    (parent == NULL || !plan_is_brought(plan, path_of(parent->rule))))
		return PLAN_READ;
	return parent != NULL ? parent->path->access : PLAN_NONE;
}

static void
emit(struct plan *plan, struct node *node)
{
	enum plan_access access = access_of(plan, node);
	struct plan_path *p;

	if (access == PLAN_NONE)
		return;
	p = &plan->paths[plan->path_count++];
	*p = (struct plan_path){.path = node->rule->path, .access = access};
	for (unsigned int layer = 0; layer < PLAN_LAYERS; layer++)
		p->depth[layer] = node->levels[layer].depth;
	p->around = around_of(plan, node, access);
	p->missing = missing_of(node, p);
	p->in_view = plan->view == PLAN_VIEW_MINIMAL && access == PLAN_READ &&
		     is_minimal(node->rule->path);
	node->path = p;
	if (access != PLAN_DENY)
		let_through(node);
}

static size_t
count_globs(const struct profile *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->count; i++)
		n += p->rules[i].glob;
	return n;
}

static int
merge_globs(struct plan *plan)
{
	size_t count = count_globs(&plan->layers[PLAN_CLIENT]) +
		       count_globs(&plan->layers[PLAN_CEILING]);

	if (count == 0)
		return 0;
	plan->globs = calloc(count, sizeof *plan->globs);
	if (plan->globs == NULL)
		return -ENOMEM;
	for (unsigned int layer = 0; layer < PLAN_LAYERS; layer++) {
		const struct profile *p = &plan->layers[layer];

		for (size_t i = 0; i < p->count; i++)
			if (p->rules[i].glob)
				plan->globs[plan->glob_count++] =
				    (struct plan_glob){.pattern = path_of(
							   &p->rules[i]),
					.base_len =
					    glob_base(path_of(&p->rules[i])),
					.depth = p->rules[i].depth,
					.layer = (enum plan_layer)layer};
	}
	return 0;
}

int
merge_layers(struct plan *plan)
{
	size_t count =
	    plan->layers[PLAN_CLIENT].count + plan->layers[PLAN_CEILING].count;
	scoped_free struct item *items = calloc(count + 1, sizeof *items);
	scoped_free struct node *nodes = calloc(count + 1, sizeof *nodes);

	plan->paths = calloc(count + 1, sizeof *plan->paths);
	if (items == NULL || nodes == NULL || plan->paths == NULL)
		return -ENOMEM;
	count = collect(plan, items);
	count = make_nodes(items, count, nodes);
	for (size_t i = 0; i < count; i++)
		emit(plan, &nodes[i]);
	return merge_globs(plan);
}
