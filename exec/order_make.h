/* Building an order, before the clone, where memory may be had. */
#ifndef EXEC_ORDER_MAKE_H
#define EXEC_ORDER_MAKE_H

#include "exec/config.h"
#include "exec/cvec.h"
#include "exec/order.h"
#include "exec/probe.h"
#include "privsep/pack.h"

/* An order and what it borrows. */
struct order_store {
	struct order order;
	struct cvec argv, envp;
	char *arg0, *cwd; /* owned */
	char uid_map[32], gid_map[32], devpts[96];
};

/* What an order is made of, all borrowed until order_done. */
struct order_source {
	const struct exec_config *config;
	const struct probe *probe;
	const struct template_start *start;
	const struct plan *plan;
	const char *const *sockets; /* order.h */
	const struct spec *spec;    /* NULL: for a file worker */
	struct bytes env;	    /* list of NAME=VALUE */
	bool quiet;		    /* it gets and says nothing */
};

/* 0; -ENOMEM. Release s with order_done in any case. */
must_use int order_make(struct order_store *s, const struct order_source *from);
void order_done(struct order_store *s);

#endif
