/*
 * A session's template: the namespaces that its children join. They are made
 * by a helper, a fork of exec that ends when they stand; descriptors keep them
 * alive. So exec itself never enters one, and a slow file system delays only
 * its own session.
 */
#ifndef EXEC_TEMPLATE_H
#define EXEC_TEMPLATE_H

#include "exec/config.h"
#include "exec/nsmake.h"
#include "policy/plan.h"

/* In the order in which a child joins them. */
enum template_ns {
	TEMPLATE_NET, /* absent where the host's is used */
	TEMPLATE_IPC, /* absent in the preset open, as is UTS */
	TEMPLATE_UTS,
	TEMPLATE_MNT, /* last: it changes the root */
	TEMPLATE_NS,
};

/* What children start from. */
enum template_set {
	TEMPLATE_CEILING, /* the session's own */
	/* With a network of its own, no socket of the host in sight, and never
	 * as the host's root; for requests that want that where the ceiling
	 * does not say it. Absent where it does, or could not be made. */
	TEMPLATE_NARROW,
	TEMPLATE_SETS,
};

struct template_start {
	int ns[TEMPLATE_NS]; /* owned, -1 where absent */
	struct identity id;  /* who the children are */
};

/* A template that stands, or the words why not. */
struct template
{
	struct template_start sets[TEMPLATE_SETS];
	/* There are no namespaces to be made: all start from the first set, in
	 * which nothing is to be joined. */
	bool bare;
	/* The words of a failure are for the client: they name no path. */
	bool tell;
};

/*
 * Start the helper. On success *pidfd becomes readable when it has ended and
 * *socket then holds its answer; the caller owns both and reaps the helper.
 * ids are who the children of each set shall be. 0 or a negative errno.
 */
must_use int template_begin(const struct exec_config *config,
    const struct identity ids[TEMPLATE_SETS], int *pidfd, int *socket);

/*
 * Take the answer of a helper that has ended. 0 with *t filled (release with
 * template_done), or a negative errno with e; then only t->tell counts.
 */
must_use int template_take(int socket, struct template *t, struct err *e);
void template_init(struct template *t);
void template_done(struct template *t);

/* What a child with that plan starts from; NULL if the session has not got
 * it. */
const struct template_start *template_for(const struct template *t,
    const struct exec_config *config, const struct plan *plan);

#endif
