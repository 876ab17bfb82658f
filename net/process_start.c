/* process/start: from the request to exec, and its answers. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "net/method.h"
#include "net/process.h"
#include "net/sandbox.h"
#include "net/uri.h"
#include "privsep/layer.h"
#include "privsep/pack.h"

/* data of an error that tells why nothing was spawned. */
struct failure {
	const char *kind;
	/* of the sandbox kinds only */
	const char *stage;
	int errnum;
	enum layer layer; /* what the host did not give, if that is known */
};

static void
write_failure(struct jsonw *w, const void *arg)
{
	const struct failure *f = arg;
	const struct layer_row *row = layer_row(f->layer);
	bool known = f->layer != LAYER_NONE;

	jsonw_open(w, '{');
	jsonw_key(w, "kind");
	jsonw_text(w, f->kind);
	if (f->stage != NULL) {
		jsonw_key(w, "stage");
		jsonw_text(w, f->stage);
		jsonw_key(w, "errno");
		jsonw_int(w, f->errnum);
		jsonw_key(w, "feature");
		jsonw_text(w, known ? row->words : f->stage);
		jsonw_key(w, "needed_by");
		jsonw_text(w, known ? row->needed_by : "process/start");
	}
	jsonw_close(w, '}');
}

static void
spawn_error(struct connection *c, const struct rpc_id *id, const char *message,
    struct failure f)
{
	rpc_error_data(c, id, RPC_INTERNAL, message, write_failure, &f);
}

/* What decoding made of the parameters of a start. */
struct start {
	struct spec spec;
	struct buf cwd;
	struct params_env_policy policy;
	struct sandbox sandbox;
	bool has_nul; /* in a string that becomes a C string */
};

static void
start_done(struct start *s)
{
	buf_done(&s->cwd);
	params_env_policy_done(&s->policy);
	sandbox_done(&s->sandbox);
}

static struct bytes
packed(const struct param_list *l)
{
	return (struct bytes){.data = l->packed.data, .len = l->packed.len};
}

static int
decode_inherit(struct bytes value, uint32_t *out, struct err *e)
{
	if (bytes_is(value, "none"))
		*out = ENV_INHERIT_NONE;
	else if (bytes_is(value, "core"))
		*out = ENV_INHERIT_CORE;
	else if (bytes_is(value, "all"))
		*out = ENV_INHERIT_ALL;
	else
		return err_set(e, EINVAL,
		    "unknown variant for `inherit`, expected `none`, `core` "
		    "or `all`");
	return 0;
}

static int
decode_env_policy(const json_t *object, bool strict, struct start *s,
    struct err *e)
{
	struct params_env_policy *p = &s->policy;
	int r;

	if (object == NULL)
		return 0;
	r = params_env_policy_decode(object,
	    &(struct decoding){.strict = strict}, p, e);
	if (r == 0)
		r = decode_inherit(p->inherit, &s->spec.inherit, e);
	if (r < 0)
		return r;
	s->spec.has_policy = true;
	s->spec.ignore_default_excludes = p->ignore_default_excludes;
	s->spec.exclude = packed(&p->exclude);
	s->spec.set = packed(&p->set);
	s->spec.include_only = packed(&p->include_only);
	s->has_nul |=
	    p->exclude.has_nul || p->set.has_nul || p->include_only.has_nul;
	return 0;
}

static int
decode_cwd(const struct config *config, struct bytes uri, struct start *s,
    struct err *e)
{
	const char *prefix = config->compat->cwd_error_prefix;
	int cut = uri.len > 80 ? 80 : (int)uri.len;
	struct err why = {0};
	int r = uri_to_path(uri, &s->cwd, &why);

	if (r == -EADDRNOTAVAIL)
		return err_set(e, EINVAL,
		    "%scwd URI `%.*s` is not valid on this exec-server host: "
		    "%.60s",
		    prefix, cut, (const char *)uri.data, why.text);
	if (r < 0)
		return err_set(e, EINVAL, "%s%.120s", prefix, why.text);
	s->spec.cwd = (struct bytes){.data = s->cwd.data, .len = s->cwd.len};
	return 0;
}

static int
decode_confinement(const struct params_process_start *p, bool strict,
    struct start *s, struct err *e)
{
	int r = sandbox_decode(p->sandbox, strict, &s->sandbox, e);

	if (r < 0)
		return r;
	if (strict && p->network_proxy != NULL &&
	    json_object_get(p->network_proxy, "proxy") == NULL)
		return err_set(e, EINVAL, "missing field `proxy`");
	s->spec.sandbox = (struct bytes){.data = s->sandbox.packed.data,
	    .len = s->sandbox.packed.len};
	s->spec.managed_network =
	    p->enforce_managed_network || p->managed_network != NULL;
	s->spec.network_proxy = p->network_proxy != NULL;
	return 0;
}

/* Fill s from the parameters. Returns 0 or -EINVAL with e. */
static int
start_decode(const struct config *config, struct params_process_start *p,
    struct start *s, struct err *e)
{
	bool strict = config->compat->strict_params;
	int r;

	buf_init(&s->cwd, PATH_LEN_MAX - 1);
	if (p->argv.count == 0)
		return err_set(e, EINVAL, "argv must not be empty");
	if (p->arg0.data != NULL && config->compat->arg0_refused)
		return err_set(e, EINVAL,
		    "Codex sandbox exec-server does not support arg0 "
		    "overrides.");
	r = decode_cwd(config, p->cwd, s, e);
	if (r == 0)
		r = decode_env_policy(p->env_policy, strict, s, e);
	if (r == 0)
		r = decode_confinement(p, strict, s, e);
	if (r < 0)
		return r;
	s->spec.argv = packed(&p->argv);
	s->spec.env = packed(&p->env);
	s->spec.has_arg0 = p->arg0.data != NULL;
	s->spec.arg0 = p->arg0;
	s->spec.tty = p->tty;
	s->spec.pipe_stdin = p->pipe_stdin && !p->tty;
	s->has_nul |=
	    p->argv.has_nul || p->env.has_nul || bytes_has_nul(p->arg0);
	return 0;
}

/*
 * Why a backend that confines no process, as ours or that of the reference,
 * would refuse this start, or NULL. The order of the checks is part of the
 * protocol.
 */
static const char *
backend_refusal(const struct connection *c, const struct start *s)
{
	if (!c->net->config.compat->process_sandbox_refused &&
	    !c->session->policy->backend)
		return NULL;
	if (c->session->policy->backend && s->spec.has_arg0)
		return "arg0 cannot be given to a program of this backend";
	if (s->spec.network_proxy)
		return "Codex sandbox exec-server network proxy launch is not "
		       "supported.";
	if (s->spec.managed_network)
		return "Codex managed network restrictions cannot be enforced "
		       "by the sandbox backend.";
	return sandbox_unenforceable(&s->sandbox, c->session->policy->isolated);
}

/* Whether the program has no name: the reference looks before it spawns. */
static bool
is_nameless(const struct start *s)
{
	struct bytes argv = s->spec.argv, name;
	struct reader r;

	reader_init(&r, argv.data, argv.len);
	return strings_next(&r, &name) && name.len == 0;
}

/* Whether there is room for one more; else the error is sent. */
static bool
has_room(struct connection *c, const struct rpc_id *id)
{
	const struct limits *l = &c->net->config.limits;

	if (c->session->process_count >= l->session_processes_max) {
		rpc_error(c, id, RPC_INVALID_REQUEST,
		    "busy: the session has %llu processes, at most %llu are "
		    "allowed; try again later",
		    (unsigned long long)c->session->process_count,
		    (unsigned long long)l->session_processes_max);
		return false;
	}
	if (c->net->process_count >= l->processes_max) {
		rpc_error(c, id, RPC_INVALID_REQUEST,
		    "busy: the server has %llu processes, at most %llu are "
		    "allowed; try again later",
		    (unsigned long long)c->net->process_count,
		    (unsigned long long)l->processes_max);
		return false;
	}
	return true;
}

static struct process *
process_new(struct connection *c, const struct rpc_id *id,
    const struct params_process_start *params)
{
	struct process *p = calloc(1, sizeof *p);
	struct session *s = c->session;
	char *key = bytes_dup(params->process_id);

	if (p == NULL || key == NULL) {
		free(p);
		free(key);
		rpc_error(c, id, RPC_INTERNAL, "out of memory");
		return NULL;
	}
	if (rpc_later_init(&p->start, c, id) < 0) {
		free(p);
		free(key);
		return NULL;
	}
	p->session = s;
	p->id = (struct bytes){.data = (uint8_t *)key,
	    .len = params->process_id.len};
	p->tty = params->tty;
	p->sandbox_type = params->sandbox == NULL
			      ? "none"
			      : c->net->config.compat->sandboxed_type;
	p->number = ++c->net->last_number;
	output_init(&p->output);
	TAILQ_INIT(&p->waiters);
	TAILQ_INIT(&p->write_ids);
	TAILQ_INSERT_TAIL(&s->processes, p, link);
	s->process_count++;
	c->net->process_count++;
	return p;
}

/* Ask exec. On failure p is freed and the error sent. */
static void
send_start(struct connection *c, const struct rpc_id *id, struct process *p,
    const struct spec *spec)
{
	scoped_buf blob;
	int r;

	buf_init(&blob, PROCESS_SPEC_MAX);
	r = spec_pack(spec, &blob);
	if (r == 0)
		r = net_exec(c->net, process_start, .number = p->number,
		    .session = c->session->id.v,
		    .spec = {.data = blob.data, .len = blob.len});
	if (r == 0)
		return;
	process_free(p);
	if (r == -EMSGSIZE)
		rpc_error(c, id, RPC_INVALID_PARAMS,
		    "argv, env and envPolicy are too large: at most %u bytes "
		    "together",
		    PROCESS_SPEC_MAX);
	else
		rpc_error(c, id, RPC_INVALID_REQUEST,
		    "busy: too much is waiting for the executor; try again "
		    "later");
}

void
on_process_start(struct connection *c, const struct rpc_id *id,
    struct params_process_start *params)
{
	const struct compat_row *compat = c->net->config.compat;
	struct start s = {0};
	struct err e = {0};
	struct process *p;
	const char *why;

	if (start_decode(&c->net->config, params, &s, &e) < 0)
		rpc_error(c, id, RPC_INVALID_PARAMS, "%s", e.text);
	else if (process_find(c->session, params->process_id) != NULL)
		rpc_error(c, id, compat->duplicate_process_code, "%s%.*s%s",
		    compat->duplicate_process[0], (int)params->process_id.len,
		    (const char *)params->process_id.data,
		    compat->duplicate_process[1]);
	else if (s.has_nul)
		spawn_error(c, id, "data provided contains a nul byte",
		    (struct failure){.kind = "spawnFailed"});
	else if (compat->strict_params && is_nameless(&s))
		spawn_error(c, id,
		    params->tty ? "missing program for PTY spawn"
				: "missing program for pipe spawn",
		    (struct failure){.kind = "spawnFailed"});
	else if ((why = backend_refusal(c, &s)) != NULL)
		rpc_error(c, id, RPC_INTERNAL, "%s", why);
	else if (has_room(c, id)) {
		p = process_new(c, id, params);
		if (p != NULL)
			send_start(c, id, p, &s.spec);
	}
	start_done(&s);
}

static struct process *
by_number(struct net *n, uint32_t number)
{
	struct session *s;
	struct process *p;

	TAILQ_FOREACH (s, &n->sessions, link)
		TAILQ_FOREACH (p, &s->processes, link)
			if (p->number == number && p->state == PROCESS_STARTING)
				return p;
	return NULL;
}

/* Answer the start before anything else of the process is told. */
static void
answer_started(struct process *p)
{
	struct net *n = p->session->net;
	struct connection *c = rpc_later_connection(n, &p->start);
	struct jsonw w;
	struct buf text;

	if (c != NULL) {
		rpc_result_begin(c, &p->start.id, &w, &text);
		jsonw_open(&w, '{');
		jsonw_key(&w, "processId");
		jsonw_string(&w, p->id);
		jsonw_key(&w, "sandboxType");
		jsonw_text(&w, p->sandbox_type);
		jsonw_close(&w, '}');
		rpc_result_send(c, &w);
	}
	rpc_later_done(n, &p->start);
}

/* What was asked for before the process ran. */
static void
carry_out_wanted(struct process *p)
{
	struct net *n = p->session->net;
	uint32_t session = p->session->id.v, lease = p->lease.v;

	if (p->close_stdin_wanted)
		input_finish(&p->input);
	if (p->rows_wanted > 0)
		net_order(n, process_resize, .session = session, .lease = lease,
		    .rows = p->rows_wanted, .cols = p->cols_wanted);
	if (p->interrupt_wanted)
		net_order(n, process_signal, .session = session, .lease = lease,
		    .signum = 2 /* SIGINT */);
	if (p->terminate_wanted)
		net_order(n, process_terminate, .session = session,
		    .lease = lease);
}

void
process_on_started(struct net *n, struct msg *m)
{
	const struct msg_process_started *started = &m->u.process_started;
	struct process *p = by_number(n, started->number);
	uint64_t queue_max = n->config.limits.queued_write_max;
	size_t at = 0;

	/* Its session has ended, and with it the lease: exec was told. */
	if (p == NULL)
		return;
	p->state = PROCESS_RUNNING;
	p->lease.v = started->lease;
	answer_started(p);
	if (started->has_stdin)
		input_open(&p->input, p, msg_take_fd(m, at++), queue_max);
	if (p->tty) {
		stream_open(&p->streams[0], p, msg_take_fd(m, at), STREAM_PTY);
	} else {
		stream_open(&p->streams[0], p, msg_take_fd(m, at++),
		    STREAM_STDOUT);
		stream_open(&p->streams[1], p, msg_take_fd(m, at),
		    STREAM_STDERR);
	}
	carry_out_wanted(p);
}

void
process_on_refused(struct net *n, const struct msg_process_refused *m)
{
	struct process *p = by_number(n, m->number);
	struct connection *c;
	char text[512 + 1];

	if (p == NULL)
		return;
	(void)snprintf(text, sizeof text, "%.*s", (int)m->text.len,
	    (const char *)m->text.data);
	c = rpc_later_connection(n, &p->start);
	if (c != NULL &&
	    (m->reason == REFUSE_SESSION || m->feature != LAYER_NONE))
		spawn_error(c, &p->start.id, text,
		    (struct failure){.kind = "sandboxUnavailable",
			.stage =
			    m->reason == REFUSE_SESSION ? "session" : "host",
			.errnum = (int)m->errnum,
			.layer = m->feature < LAYER_COUNT
				     ? (enum layer)m->feature
				     : LAYER_NONE});
	else if (c != NULL)
		rpc_error(c, &p->start.id,
		    m->reason == REFUSE_INVALID || m->reason == REFUSE_BUSY
			? RPC_INVALID_REQUEST
			: RPC_INTERNAL,
		    "%s", text);
	process_free(p);
}

static const char *
kind_of(uint32_t stage, uint32_t errnum)
{
	if (stage != STAGE_EXEC && stage != STAGE_CWD)
		return "sandboxPreparation";
	if (errnum == ENOENT)
		return "spawnNotFound";
	return errnum == EACCES ? "spawnPermissionDenied" : "spawnFailed";
}

void
process_on_failed(struct net *n, const struct msg_process_failed *m)
{
	struct process *p = by_number(n, m->number);
	bool sandbox = m->stage != STAGE_EXEC && m->stage != STAGE_CWD;
	const char *words = strerrordesc_np((int)m->errnum);
	struct connection *c;
	char hint[STAGE_HINT_MAX], text[320];

	if (p == NULL)
		return;
	stage_hint(m->stage, m->errnum, hint);
	(void)snprintf(text, sizeof text, "%s%s%s (os error %u)%s",
	    sandbox ? stage_words(m->stage) : "", sandbox ? ": " : "",
	    words != NULL ? words : "Unknown error", m->errnum, hint);
	c = rpc_later_connection(n, &p->start);
	if (c != NULL)
		spawn_error(c, &p->start.id, text,
		    (struct failure){.kind = kind_of(m->stage, m->errnum),
			.stage = sandbox ? stage_words(m->stage) : NULL,
			.errnum = (int)m->errnum,
			.layer = layer_of_stage(m->stage)});
	process_free(p);
}
