/* A new configuration for the sessions to come. */
#include <errno.h>

#include "base/log.h"
#include "exec/executor.h"

/* Before the first net EXEC_HTTP adds to what we were started with. */
static bool
is_first_http(const struct executor *x, const struct msg *msg)
{
	return msg->type == MSG_EXEC_HTTP && x->next == NULL &&
	       x->next_error.code == 0 && x->config->http.binary_fd < 0;
}

static int
begin(struct executor *x, struct msg *msg, struct err *e)
{
	config_drop(x->next);
	x->next_error = (struct err){0};
	x->next = config_new();
	return x->next == NULL ? err_set(e, ENOMEM, "config")
			       : config_take(x->next, msg, e);
}

static int
take(struct executor *x, struct msg *msg, struct err *e)
{
	if (msg->type == MSG_EXEC_CONFIG)
		return begin(x, msg, e);
	if (x->next == NULL)
		return err_set(e, EPROTO, "config: out of turn");
	if (msg->type == MSG_EXEC_POLICY)
		return config_take_policy(x->next, &msg->u.exec_policy, e);
	if (msg->type == MSG_EXEC_BACKEND)
		return config_take_backend(x->next, msg, e);
	return config_take_http(x->next, msg, e);
}

int
executor_on_new_config(struct executor *x, struct msg *msg, struct err *e)
{
	struct err why = {0};

	if (is_first_http(x, msg))
		return config_take_http(x->config, msg, e);
	/* Once wrong, the rest is of no use. */
	if (msg->type != MSG_EXEC_CONFIG && x->next_error.code != 0)
		return 0;
	if (take(x, msg, &why) < 0) {
		config_drop(x->next);
		x->next = NULL;
		x->next_error = why;
	}
	return 0;
}

static int
check(const struct executor *x, struct exec_config *next, struct err *e)
{
	int r = config_follow(next, x->config, e);

	if (r < 0)
		return r;
	if (x->probe->bare)
		r = config_share_nothing(next, e);
	return r < 0 ? r : probe_serves(x->probe, next, e);
}

int
executor_on_exec_apply(struct executor *x, const struct msg *msg, struct err *e)
{
	struct msg_exec_applied m = {.number = msg->u.exec_apply.number};
	struct err why = x->next_error;

	if (x->next == NULL && why.code == 0)
		return err_set(e, EPROTO, "nothing to apply");
	if (x->next != NULL && check(x, x->next, &why) == 0) {
		config_drop(x->config);
		x->config = config_hold(x->next);
		log_set_level((enum log_level)x->config->log_level);
	}
	config_drop(x->next);
	x->next = NULL;
	x->next_error = (struct err){0};
	m.errnum = (uint32_t)why.code;
	m.text = bytes_of(why.text);
	return channel_send_exec_applied(x->supervisor, &m, NULL, 0);
}
