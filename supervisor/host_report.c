#include "supervisor/host_report.h"

#include <stdio.h>
#include <string.h>

#include "privsep/layer.h"

#define REMEDY_MAX (LAYER_USERNS_WHY_MAX + 64)
#define UNTRIED	   "untried"

static const struct {
	const char *key, *words;
} services[] = {
    {"preset.workspace", "preset workspace"},
    {"preset.strict", "preset strict"},
    {"preset.open", "preset open"},
    {"network.enabled", "profile.network=enabled"},
    {"views", "paths with less access than what is around them"},
};

#define SERVICES (sizeof services / sizeof services[0])

/* The value of a key; "untried" if it is not there. */
static void
value_of(const struct host *h, const char *key, char out[HOST_VALUE_MAX])
{
	const char *at = (const char *)h->probe.data, *end = at + h->probe.len;
	size_t key_len = strlen(key);

	(void)snprintf(out, HOST_VALUE_MAX, "%s", UNTRIED);
	while (at < end) {
		size_t left = (size_t)(end - at);
		const char *blank = memchr(at, ' ', left);
		size_t len = blank == NULL ? left : (size_t)(blank - at);

		if (len > key_len && memcmp(at, key, key_len) == 0 &&
		    at[key_len] == '=') {
			(void)snprintf(out, HOST_VALUE_MAX, "%.*s",
			    (int)(len - key_len - 1), at + key_len + 1);
			return;
		}
		at += len + 1;
	}
}

/* "yes", or the ABI of Landlock. */
static bool
is_good(const char *value)
{
	return strcmp(value, "yes") == 0 ||
	       (value[0] >= '1' && value[0] <= '9');
}

/* Only root's workspaces are shown with other ids, and views are made of what
 * other rows tell. */
static bool
counts(const struct host *h, uint32_t layer)
{
	return layer != LAYER_VIEWS && (layer != LAYER_IDMAP || h->root);
}

/* Whether this configuration cannot do without. */
static bool
is_needed(const struct host *h, uint32_t layer)
{
	char value[HOST_VALUE_MAX];

	if (layer != LAYER_CGROUP)
		return true;
	value_of(h, "totals", value);
	return is_good(value);
}

enum host_judgement
host_judge(const struct host *h)
{
	enum host_judgement judgement = HOST_WHOLE;
	char value[HOST_VALUE_MAX];

	value_of(h, services[0].key, value);
	if (!is_good(value))
		return HOST_CANNOT_SERVE;
	for (size_t i = 1; i < SERVICES; i++) {
		value_of(h, services[i].key, value);
		if (!is_good(value))
			judgement = HOST_LACKS;
	}
	for (uint32_t i = LAYER_NONE + 1; i < LAYER_COUNT; i++) {
		value_of(h, layer_row(i)->key, value);
		if (counts(h, i) && is_needed(h, i) && !is_good(value))
			judgement = HOST_LACKS;
	}
	return judgement;
}

/* What to change; user namespaces have switches of their own. */
static const char *
remedy_of(const struct host *h, uint32_t layer, char out[REMEDY_MAX])
{
	char why[LAYER_USERNS_WHY_MAX];

	if (layer != LAYER_USERNS)
		return layer_row(layer)->remedy;
	layer_userns_why(why);
	(void)snprintf(out, REMEDY_MAX, "%s%s", why,
	    h->root ? "" : ", start as root, or set sandbox.degraded=allow");
	return out;
}

static int
put_layer(const struct host *h, uint32_t layer, struct buf *out)
{
	const struct layer_row *row = layer_row(layer);
	char value[HOST_VALUE_MAX], why[REMEDY_MAX];

	value_of(h, row->key, value);
	if (is_good(value) && layer == LAYER_LANDLOCK)
		return buf_printf(out, "works    %s (ABI %s)\n", row->words,
		    value);
	if (is_good(value))
		return buf_printf(out, "works    %s\n", row->words);
	if (strcmp(value, UNTRIED) == 0)
		return buf_printf(out, "untried  %s\n", row->words);
	return buf_printf(out,
	    "missing  %s (%s)\n         needed by %s\n         to change it: "
	    "%s\n",
	    row->words, strcmp(value, "0") == 0 ? "not in this kernel" : value,
	    row->needed_by, remedy_of(h, layer, why));
}

/* The words of the layer with that key, or the key itself. */
static const char *
words_of_key(const char *key)
{
	for (uint32_t i = LAYER_NONE + 1; i < LAYER_COUNT; i++)
		if (strcmp(layer_row(i)->key, key) == 0)
			return layer_row(i)->words;
	return key;
}

static int
put_service(const struct host *h, size_t i, struct buf *out)
{
	char value[HOST_VALUE_MAX];

	value_of(h, services[i].key, value);
	if (is_good(value))
		return buf_printf(out, "works    %s\n", services[i].words);
	if (strcmp(value, UNTRIED) == 0)
		return buf_printf(out, "untried  %s\n", services[i].words);
	return buf_printf(out, "refused  %s: needs %s\n", services[i].words,
	    words_of_key(value));
}

/* --- item by item --------------------------------------------------------- */

static void
fill_layer(const struct host *h, uint32_t layer, struct host_item *out)
{
	const struct layer_row *row = layer_row(layer);
	char why[REMEDY_MAX];

	value_of(h, row->key, out->value);
	out->name = row->words;
	out->needed_by = row->needed_by;
	out->state = "works";
	if (is_good(out->value))
		return;
	out->state = strcmp(out->value, UNTRIED) == 0 ? UNTRIED : "missing";
	if (strcmp(out->value, UNTRIED) != 0)
		(void)snprintf(out->remedy, sizeof out->remedy, "%s",
		    remedy_of(h, layer, why));
}

static void
fill_service(const struct host *h, size_t i, struct host_item *out)
{
	value_of(h, services[i].key, out->value);
	out->name = services[i].words;
	out->needed_by = "";
	out->state = "works";
	if (is_good(out->value))
		return;
	out->state = strcmp(out->value, UNTRIED) == 0 ? UNTRIED : "refused";
	if (strcmp(out->value, UNTRIED) != 0)
		(void)snprintf(out->remedy, sizeof out->remedy, "needs %s",
		    words_of_key(out->value));
}

bool
host_item_get(const struct host *h, size_t i, struct host_item *out)
{
	size_t n = 0;

	*out = (struct host_item){0};
	for (uint32_t layer = LAYER_NONE + 1; layer < LAYER_COUNT; layer++) {
		if (!counts(h, layer) || n++ != i)
			continue;
		fill_layer(h, layer, out);
		return true;
	}
	if (i - n >= SERVICES)
		return false;
	fill_service(h, i - n, out);
	return true;
}

static int
put_limits(const struct host *h, struct buf *out)
{
	char totals[HOST_VALUE_MAX];

	value_of(h, layer_row(LAYER_CGROUP)->key, totals);
	return buf_printf(out, "limits   of each process (setrlimit)%s\n\n",
	    is_good(totals) ? ", and totals of commands and sessions where "
			      "limits.*_total asks"
			    : "; no totals of commands and sessions");
}

int
host_put_text(const struct host *h, struct buf *out)
{
	int r = buf_printf(out, "Linux %s, as %s\n\n", h->kernel,
	    h->root ? "root" : "an ordinary user");

	for (uint32_t i = LAYER_NONE + 1; i < LAYER_COUNT && r == 0; i++)
		if (counts(h, i))
			r = put_layer(h, i, out);
	if (r == 0)
		r = put_limits(h, out);
	for (size_t i = 0; i < SERVICES && r == 0; i++)
		r = put_service(h, i, out);
	return r;
}

/* --- JSON: no string in it has anything to escape ------------------------ */

static int
put_layer_json(const struct host *h, uint32_t layer, const char *comma,
    struct buf *out)
{
	const struct layer_row *row = layer_row(layer);
	char value[HOST_VALUE_MAX], why[REMEDY_MAX];
	bool good;

	value_of(h, row->key, value);
	good = is_good(value);
	return buf_printf(out,
	    "%s{\"key\":\"%s\",\"name\":\"%s\",\"works\":%s,\"value\":\"%s\","
	    "\"needed\":%s,\"needed_by\":\"%s\",\"change\":%s%s%s}",
	    comma, row->key, row->words, good ? "true" : "false", value,
	    is_needed(h, layer) ? "true" : "false", row->needed_by,
	    good ? "" : "\"", good ? "null" : remedy_of(h, layer, why),
	    good ? "" : "\"");
}

int
host_put_json(const struct host *h, struct buf *out)
{
	const char *comma = "";
	int r = buf_printf(out,
	    "{\"kernel\":\"%s\",\"root\":%s,\"exit\":%d,\"layers\":[",
	    h->kernel, h->root ? "true" : "false", (int)host_judge(h));

	for (uint32_t i = LAYER_NONE + 1; i < LAYER_COUNT && r == 0; i++) {
		if (!counts(h, i))
			continue;
		r = put_layer_json(h, i, comma, out);
		comma = ",";
	}
	if (r == 0)
		r = buf_printf(out, "],\"services\":{");
	for (size_t i = 0; i < SERVICES && r == 0; i++) {
		char value[HOST_VALUE_MAX];

		value_of(h, services[i].key, value);
		r = buf_printf(out, "%s\"%s\":%s%s%s", i == 0 ? "" : ",",
		    services[i].key, is_good(value) ? "" : "\"",
		    is_good(value) ? "true" : value,
		    is_good(value) ? "" : "\"");
	}
	return r < 0 ? r : buf_printf(out, "}}\n");
}
