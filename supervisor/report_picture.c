/* The processes and the channels between them. */
#include <stdlib.h>
#include <string.h>

#include "privsep/msg.h"
#include "supervisor/process_table.h"
#include "supervisor/report.h"

#define EDGES_MAX 32
#define BADGE	  11 /* radius of an edge's number */
#define MARGIN	  14 /* of a detour: from a box, and beside another line */

/* What stands in the picture: our processes and what is around them. */
enum node {
	ADMINISTRATOR,
	CLIENTS,
	SUPERVISOR,
	NET,
	EXEC,
	HTTP,
	WORKER,
	INIT,
	PROGRAM,
	WEB,
	FILES,
	NODES
};

/* The upper left corner of a box. */
struct corner {
	int x, y;
};

/* A drawing: a wide one for desks and paper, a narrow one for phones. */
struct sheet {
	const char *class;
	int width, height;	   /* of all */
	int box_width, box_height; /* of each box */
	bool gutter; /* lines that pass a box go between the columns */
	const struct corner *corners;
};

static const struct {
	const char *process; /* of the table; NULL: not one of ours */
	const char *title, *text;
	const char *class;
} nodes[NODES] = {
    [ADMINISTRATOR] = {NULL, "administrator", "files, command line", "outside"},
    [CLIENTS] = {NULL, "clients", "not trusted", "untrusted"},
    [SUPERVISOR] = {"supervisor", NULL, "starts and watches", "rights"},
    [NET] = {"net", NULL, "parses, no rights", "parser"},
    [EXEC] = {"exec", NULL, "decides and acts", "rights"},
    [HTTP] = {"http", NULL, "one per session", "parser"},
    [WORKER] = {"worker", NULL, "one profile's files", "sandboxed"},
    [INIT] = {"init", NULL, "pid 1 of a program", "sandboxed"},
    [PROGRAM] = {"child", NULL, "what a client starts", "sandboxed"},
    [WEB] = {NULL, "web servers", "not trusted", "untrusted"},
    [FILES] = {NULL, "workspaces", "and scratch space", "outside"},
};

static const struct corner wide_corners[NODES] = {
    [ADMINISTRATOR] = {10, 16},
    [SUPERVISOR] = {520, 16},
    [CLIENTS] = {10, 146},
    [NET] = {300, 146},
    [EXEC] = {740, 146},
    [WORKER] = {10, 276},
    [PROGRAM] = {300, 276},
    [INIT] = {520, 276},
    [HTTP] = {740, 276},
    [FILES] = {155, 406},
    [WEB] = {740, 406},
};

static const struct corner narrow_corners[NODES] = {
    [CLIENTS] = {28, 112},
    [NET] = {28, 208},
    [WORKER] = {28, 304},
    [FILES] = {28, 400},
    [HTTP] = {28, 496},
    [ADMINISTRATOR] = {214, 16},
    [SUPERVISOR] = {214, 112},
    [EXEC] = {214, 208},
    [INIT] = {214, 304},
    [PROGRAM] = {214, 400},
    [WEB] = {214, 496},
};

static const struct sheet sheets[] = {
    {"wide", 920, 478, 170, 56, false, wide_corners},
    {"narrow", 360, 564, 118, 52, true, narrow_corners},
};

/* Two nodes and what goes between them. */
struct edge {
	enum node a, b;
	const char *what; /* NULL: the messages of the table */
};

/* What passes no messages. */
static const struct edge others[] = {
    {ADMINISTRATOR, SUPERVISOR, "configuration, once and on SIGHUP"},
    {CLIENTS, NET, "WebSocket with JSON-RPC, through the listening socket"},
    {NET, PROGRAM,
	"stdin, stdout, stderr or a terminal: descriptors that exec made"},
    {EXEC, WORKER, "a fork, once; then the worker's end"},
    {EXEC, INIT,
	"a clone, with a status pipe and a control socket for signals and "
	"sizes of terminals"},
    {INIT, PROGRAM, "a clone; its end is waited for"},
    {WORKER, FILES, "files, as its profile shows them"},
    {PROGRAM, FILES, "files, as its profile shows them"},
    {HTTP, WEB, "HTTP, where the guard lets it"},
};

struct edges {
	struct edge items[EDGES_MAX];
	size_t count;
};

static enum node
node_of(enum role role)
{
	static const enum node of[] = {
	    [ROLE_SUPERVISOR] = SUPERVISOR,
	    [ROLE_NET] = NET,
	    [ROLE_EXEC] = EXEC,
	    [ROLE_WORKER] = WORKER,
	    [ROLE_HTTP] = HTTP,
	};

	return of[role];
}

static const char *
title_of(enum node n)
{
	const struct process_row *row = nodes[n].process != NULL
					    ? process_row_find(nodes[n].process)
					    : NULL;

	return row != NULL ? row->title : nodes[n].title;
}

static void
add_edge(struct edges *all, struct edge edge)
{
	for (size_t i = 0; i < all->count; i++)
		if ((all->items[i].a == edge.a && all->items[i].b == edge.b) ||
		    (all->items[i].a == edge.b && all->items[i].b == edge.a))
			return;
	if (all->count < EDGES_MAX)
		all->items[all->count++] = edge;
}

/* Every pair that the message table knows, then what passes none. */
static void
find_edges(struct edges *all)
{
	*all = (struct edges){0};
	for (uint32_t type = MSG_NONE + 1; type < MSG_TYPES; type++) {
		const struct msg_row *row = msg_row(type);

		if (row->from != ROLE_ANY && row->to != ROLE_ANY)
			add_edge(all, (struct edge){.a = node_of(row->from),
					  .b = node_of(row->to)});
	}
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		add_edge(all, others[i]);
}

/* --- the drawing ---------------------------------------------------------- */

struct point {
	int x, y;
};

static struct point
middle_of(const struct sheet *s, enum node n)
{
	return (struct point){s->corners[n].x + s->box_width / 2,
	    s->corners[n].y + s->box_height / 2};
}

/* Rows of boxes between those of an edge: 0 for neighbours. */
static int
rows_between(const struct sheet *s, const struct edge *e)
{
	int pitch = s->box_height * 3 / 2;

	return abs(s->corners[e->a].y - s->corners[e->b].y) / pitch - 1;
}

/* Where the line of an edge bends; x is where it runs down. */
static bool
bends(const struct sheet *s, const struct edge *e, size_t number, int *x)
{
	const struct corner *a = &s->corners[e->a], *b = &s->corners[e->b];

	if (!s->gutter || rows_between(s, e) < 1)
		return false;
	if (a->x == b->x)
		*x = a->x > s->width / 2 ? a->x + s->box_width + MARGIN
					 : a->x - MARGIN;
	else
		*x = s->width / 2 + (number % 2 != 0 ? MARGIN : -MARGIN);
	return true;
}

static void
draw_edge(struct html *h, const struct sheet *s, const struct edge *e,
    size_t number)
{
	struct point a = middle_of(s, e->a), b = middle_of(s, e->b), at;
	int x;

	at = (struct point){(a.x + b.x) / 2, (a.y + b.y) / 2};
	if (bends(s, e, number, &x)) {
		at.x = x;
		/* Beside the straight lines of both boxes. */
		a.y += a.y < b.y ? MARGIN : -MARGIN;
		b.y += a.y < b.y ? -MARGIN : MARGIN;
		html_put(h, "<path class=\"%s\" d=\"M%d %dH%dV%dH%d\"/>",
		    e->what == NULL ? "messages" : "other", a.x, a.y, x, b.y,
		    b.x);
	} else {
		html_put(h, "<path class=\"%s\" d=\"M%d %dL%d %d\"/>",
		    e->what == NULL ? "messages" : "other", a.x, a.y, b.x, b.y);
	}
	html_put(h,
	    "<circle cx=\"%d\" cy=\"%d\" r=\"%d\"/><text class=\"number\" "
	    "x=\"%d\" y=\"%d\">%zu</text>\n",
	    at.x, at.y, BADGE, at.x, at.y + 4, number);
}

static void
draw_node(struct html *h, const struct sheet *s, enum node n)
{
	struct point at = middle_of(s, n);

	html_put(h,
	    "<g class=\"%s\"><rect x=\"%d\" y=\"%d\" width=\"%d\" "
	    "height=\"%d\" rx=\"6\"/>"
	    "<text class=\"title\" x=\"%d\" y=\"%d\">%s</text>"
	    "<text x=\"%d\" y=\"%d\">%s</text></g>\n",
	    nodes[n].class, s->corners[n].x, s->corners[n].y, s->box_width,
	    s->box_height, at.x, at.y - 4, title_of(n), at.x, at.y + 14,
	    nodes[n].text);
}

static void
draw(struct html *h, const struct sheet *s, const struct edges *all)
{
	html_put(h,
	    "<svg class=\"picture %s\" viewBox=\"0 0 %d %d\" role=\"img\" "
	    "aria-label=\"The processes, and numbered lines between those "
	    "that talk to each other. The table below says the same.\">\n",
	    s->class, s->width, s->height);
	for (size_t i = 0; i < all->count; i++)
		draw_edge(h, s, &all->items[i], i + 1);
	for (unsigned int n = 0; n < NODES; n++)
		draw_node(h, s, (enum node)n);
	html_put(h, "</svg>\n");
}

/* --- the table ------------------------------------------------------------ */

static bool
goes(const struct msg_row *row, enum node from, enum node to)
{
	/* What anyone may send goes to the supervisor, from those who have a
	 * channel to it. */
	if (row->from == ROLE_ANY)
		return to == SUPERVISOR && (from == NET || from == EXEC);
	return node_of(row->from) == from && node_of(row->to) == to;
}

static void
put_messages(struct html *h, enum node from, enum node to)
{
	size_t count = 0;

	for (uint32_t type = MSG_NONE + 1; type < MSG_TYPES; type++) {
		const struct msg_row *row = msg_row(type);

		if (!goes(row, from, to))
			continue;
		if (count++ == 0)
			html_put(h, "<p><b>%s to %s:</b> ", title_of(from),
			    title_of(to));
		html_put(h, "%s<code>", count > 1 ? ", " : "");
		html_word(h, row->name);
		html_put(h, "</code>");
		if (row->fds_max > 0)
			html_put(h,
			    "<span class=\"fds\"> with up to %u "
			    "descriptor%s</span>",
			    row->fds_max, row->fds_max > 1 ? "s" : "");
	}
	if (count > 0)
		html_put(h, ".</p>");
}

static void
put_table(struct html *h, const struct edges *all)
{
	static const char *const head[] = {"No.", "Between", "What passes",
	    NULL};

	report_table(h, "channels", "Channels", head);
	for (size_t i = 0; i < all->count; i++) {
		const struct edge *e = &all->items[i];

		html_put(h,
		    "<tr><td class=\"number\">%zu</td><th scope=\"row\">%s "
		    "<span class=\"dash\">and</span> %s</th><td>",
		    i + 1, title_of(e->a), title_of(e->b));
		if (e->what != NULL)
			html_put(h, "<p>%s</p>", e->what);
		put_messages(h, e->a, e->b);
		put_messages(h, e->b, e->a);
		html_put(h, "</td></tr>\n");
	}
	report_table_end(h);
}

void
report_picture(struct html *h)
{
	struct edges all;

	find_edges(&all);
	report_begin(h, "processes", "Processes and channels");
	html_put(h,
	    "<p>What parses has no rights, and what has rights does not parse. "
	    "A full line is a channel that passes only the messages of its "
	    "list; a dashed one is something else. Besides, each of ours but "
	    "init has an end of a pipe to the supervisor for lines of the log, "
	    "which are text and nothing else. Nothing passes where there is no "
	    "line.</p>\n<figure>\n");
	for (size_t i = 0; i < sizeof sheets / sizeof sheets[0]; i++)
		draw(h, &sheets[i], &all);
	html_put(h,
	    "<figcaption><ul class=\"legend\">"
	    "<li><i class=\"key rights\"></i>has rights, parses nothing</li>"
	    "<li><i class=\"key parser\"></i>parses, has no rights</li>"
	    "<li><i class=\"key sandboxed\"></i>in a sandbox</li>"
	    "<li><i class=\"key untrusted\"></i>not trusted</li>"
	    "<li><i class=\"key outside\"></i>outside</li>"
	    "</ul></figcaption>\n</figure>\n");
	put_table(h, &all);
	report_end(h);
}
