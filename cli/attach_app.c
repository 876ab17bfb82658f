#include "cli/attach_app.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/attach_pipe.h"
#include "cli/client.h"

/* JSON-RPC. */
#define METHOD_NOT_FOUND (-32601)
/* Of each number of a version. */
#define VERSION_DIGITS	 6

/* One of the two, the other is NULL. */
struct attach_app {
	struct client *client;
	struct attach_pipe *pipe;
	json_int_t last_id;
	int watch_fd; /* borrowed */
	int timeout_ms;
};

/* --- the connection ----------------------------------------------------- */

/* Takes message. */
static int
post(struct attach_app *a, json_t *message, struct err *e)
{
	if (message == NULL)
		return err_set(e, ENOMEM, "out of memory");
	return a->client != NULL ? client_post(a->client, message, e)
				 : attach_pipe_send(a->pipe, message, e);
}

static bool
next(struct attach_app *a, struct message *m)
{
	return a->client != NULL ? client_next(a->client, m)
				 : attach_pipe_next(a->pipe, m);
}

static int
check(struct attach_app *a, struct err *e)
{
	return a->client != NULL ? client_check(a->client, e)
				 : attach_pipe_check(a->pipe, e);
}

static void
wait_for(struct attach_app *a, int timeout_ms)
{
	if (a->client != NULL)
		client_wait(a->client, timeout_ms);
	else
		attach_pipe_wait(a->pipe, timeout_ms);
}

void
attach_app_wait(struct attach_app *a)
{
	wait_for(a, -1);
}

/* Its requests are for others, if it makes any; it must not wait for us. */
static int
refuse(struct attach_app *a, const struct message *m, struct err *e)
{
	json_t *id = json_object_get(m->root, "id");

	if (m->method == NULL || id == NULL)
		return 0;
	return post(a,
	    json_pack("{s:O,s:{s:i,s:s}}", "id", id, "error", "code",
		METHOD_NOT_FOUND, "message", "not served"),
	    e);
}

int
attach_app_check(struct attach_app *a, struct err *e)
{
	scoped_message m = {0};
	int r = 0;

	while (r == 0 && next(a, &m)) {
		r = refuse(a, &m, e);
		message_done(&m);
	}
	return r < 0 ? r : check(a, e);
}

/* --- calls -------------------------------------------------------------- */

/* Take what came until the answer to the last request. Returns 1 for it. */
static int
look(struct attach_app *a, struct message *m, struct err *e)
{
	int r;

	while (next(a, m)) {
		if (m->method == NULL && m->id == a->last_id)
			return 1;
		r = refuse(a, m, e);
		message_done(m);
		if (r < 0)
			return r;
	}
	return check(a, e);
}

static int
await(struct attach_app *a, const char *method, struct message *m,
    struct err *e)
{
	int64_t deadline = clock_ms() + a->timeout_ms;
	struct pollfd end = {.fd = a->watch_fd, .events = POLLIN};
	int r;

	for (;;) {
		int64_t left = deadline - clock_ms();

		r = look(a, m, e);
		if (r != 0)
			return r < 0 ? r : 0;
		if (poll(&end, 1, 0) == 1)
			return err_set(e, EINTR, "asked to end");
		if (left <= 0)
			return err_set(e, ETIMEDOUT,
			    "%s: the app-server did not answer in time",
			    method);
		wait_for(a, (int)left);
	}
}

static bool
is_unknown_method(const json_t *error, const char *text)
{
	static const char *const words[] = {"unknown variant", "unknown method",
	    "method not found"};
	json_int_t code = json_integer_value(json_object_get(error, "code"));

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (text != NULL && strcasestr(text, words[i]) != NULL)
			return true;
	return code == METHOD_NOT_FOUND;
}

static int
read_error(const char *method, const json_t *error, struct err *e)
{
	const char *text = json_string_value(json_object_get(error, "message"));

	if (is_unknown_method(error, text))
		return err_set(e, ENOSYS,
		    "the app-server does not know the method %s", method);
	return err_set(e, EREMOTEIO, "%s: the app-server answered: %s", method,
	    text != NULL ? text : "an error without a message");
}

/* Takes params. Returns 0 and a new reference in *result. */
static int
call(struct attach_app *a, const char *method, json_t *params, json_t **result,
    struct err *e)
{
	scoped_message m = {0};
	int r = post(a,
	    json_pack("{s:I,s:s,s:o}", "id", ++a->last_id, "method", method,
		"params", params),
	    e);

	if (r == 0)
		r = await(a, method, &m, e);
	if (r < 0)
		return r;
	if (m.result == NULL && m.error == NULL)
		return err_set(e, EPROTO, "%s: an answer without a result",
		    method);
	if (m.error != NULL)
		return read_error(method, m.error, e);
	*result = json_incref(m.result);
	return 0;
}

/* --- the handshake ------------------------------------------------------ */

/* Read three numbers with dots between. Returns what follows them, or NULL. */
static const char *
read_version(const char *text, unsigned int numbers[3])
{
	for (int i = 0; i < 3; i++) {
		size_t digits = strspn(text, "0123456789");

		if (digits == 0 || digits > VERSION_DIGITS)
			return NULL;
		for (numbers[i] = 0; digits > 0; digits--)
			numbers[i] =
			    numbers[i] * 10 + (unsigned int)(*text++ - '0');
		if (i < 2 && *text++ != '.')
			return NULL;
	}
	return text;
}

bool
attach_app_is_version(const char *user_agent, const char *least)
{
	const char *slash = strchr(user_agent, '/');
	const char *end = NULL;
	unsigned int got[3], want[3];

	if (slash != NULL)
		end = read_version(slash + 1, got);
	if (end == NULL || read_version(least, want) == NULL)
		return false;
	for (int i = 0; i < 3; i++)
		if (got[i] != want[i])
			return got[i] > want[i];
	return *end != '-';
}

static int
check_version(const json_t *result, struct err *e)
{
	const char *agent =
	    json_string_value(json_object_get(result, "userAgent"));

	if (agent == NULL || strchr(agent, '/') == NULL)
		return err_set(e, EPROTONOSUPPORT,
		    "the app-server does not tell its "
		    "version; " ATTACH_APP_VERSION " or newer is needed");
	if (attach_app_is_version(agent, ATTACH_APP_VERSION))
		return 0;
	return err_set(e, EPROTONOSUPPORT,
	    "the app-server is %.24s; " ATTACH_APP_VERSION
	    " or newer is needed",
	    strchr(agent, '/') + 1);
}

static int
shake_hands(struct attach_app *a, struct err *e)
{
	json_t *result = NULL;
	int r = call(a, "initialize",
	    json_pack("{s:{s:s,s:s,s:s},s:{s:b}}", "clientInfo", "name",
		"sallyport-attach", "title", "sallyport attach", "version",
		SALLYPORT_VERSION, "capabilities", "experimentalApi", 1),
	    &result, e);

	if (r == 0)
		r = check_version(result, e);
	json_decref(result);
	if (r == 0)
		r = post(a, json_pack("{s:s}", "method", "initialized"), e);
	return r;
}

/* The file's owner says only who made it: what was moved there since may be
 * another's. */
static int
check_peer(const struct attach_app *a, struct err *e)
{
	uid_t uid;
	int r = client_peer(a->client, &uid);

	if (r < 0)
		return err_errno(e, -r, "whose the app-server is");
	if (uid == geteuid() || uid == 0)
		return 0;
	return err_set(e, EPERM, "the app-server runs as another user, %u",
	    uid);
}

static int
connect_app(struct attach_app *a, const struct attach_app_opts *o,
    struct err *e)
{
	const struct client_opts client = {.url = &o->target->url,
	    .watch_fd = o->watch_fd,
	    .watch_ends = true,
	    .timeout_ms = o->timeout_ms};
	int r;

	if (o->target->kind == ATTACH_STDIO)
		return attach_pipe_open(o->argv, o->watch_fd, &a->pipe, e);
	r = client_open(&client, &a->client, e);
	if (r == 0 && o->target->kind == ATTACH_UNIX)
		r = check_peer(a, e);
	return r;
}

int
attach_app_open(const struct attach_app_opts *o, struct attach_app **out,
    struct err *e)
{
	struct attach_app *a = calloc(1, sizeof *a);
	int r;

	if (a == NULL)
		return err_set(e, ENOMEM, "out of memory");
	a->timeout_ms = o->timeout_ms;
	a->watch_fd = o->watch_fd;
	r = connect_app(a, o, e);
	if (r == 0)
		r = shake_hands(a, e);
	if (r < 0)
		attach_app_free(a);
	else
		*out = a;
	return r;
}

void
attach_app_free(struct attach_app *a)
{
	if (a == NULL)
		return;
	client_free(a->client);
	attach_pipe_free(a->pipe);
	free(a);
}

int
attach_app_add(struct attach_app *a, const char *id, const char *url,
    struct err *e)
{
	json_t *result = NULL;
	int r = call(a, "environment/add",
	    json_pack("{s:s,s:s}", "environmentId", id, "execServerUrl", url),
	    &result, e);

	json_decref(result);
	return r;
}
