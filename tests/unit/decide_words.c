#include "tests/unit/decide_words.h"

#include <string.h>

enum plan_access
words_access(char c)
{
	static const char letters[] = "nrwd";
	const char *at = strchr(letters, c);

	if (at == NULL || c == '\0')
		fail_msg("access %c", c);
	return (enum plan_access)(at - letters);
}

static struct profile_entry
entry_of(char *word)
{
	static const struct {
		const char *name;
		enum profile_path path;
	} names[] = {
	    {"root", PROFILE_ROOT},
	    {"min", PROFILE_MINIMAL},
	    {"cwd", PROFILE_CWD},
	    {"tmpdir", PROFILE_TMPDIR},
	    {"slash", PROFILE_SLASH_TMP},
	    {"unknown", PROFILE_UNKNOWN},
	    {"roots", PROFILE_PROJECT_ROOTS},
	};
	char *equals = strrchr(word, '=');
	struct profile_entry entry = {0};

	assert_non_null(equals);
	entry.access =
	    (enum profile_access)(words_access(equals[1]) - PLAN_READ);
	entry.skip_missing = equals[2] == '?';
	*equals = '\0';
	if (word[0] == '/') {
		entry.path = PROFILE_PATH;
		entry.text = bytes_of(word);
		return entry;
	}
	if (strncmp(word, "g:", 2) == 0) {
		entry.path = PROFILE_GLOB;
		entry.text = bytes_of(word + 2);
		return entry;
	}
	if (strncmp(word, "roots/", 6) == 0) {
		entry.path = PROFILE_PROJECT_ROOTS;
		entry.text = bytes_of(word + 6);
		return entry;
	}
	for (size_t i = 0; i < COUNT(names); i++) {
		if (strcmp(word, names[i].name) != 0)
			continue;
		entry.path = names[i].path;
		return entry;
	}
	fail_msg("word %s", word);
	return entry;
}

void
words_parse(struct words *w, const char *text)
{
	char *save = NULL;

	*w = (struct words){0};
	assert_true(strlen(text) < sizeof w->text);
	(void)strcpy(w->text, text);
	for (char *word = strtok_r(w->text, " ", &save); word != NULL;
	     word = strtok_r(NULL, " ", &save)) {
		assert_true(w->count < WORDS_MAX);
		w->entries[w->count++] = entry_of(word);
	}
}

/* Ceilings: two workspaces, one with a file of the server in it. */
void
words_ceiling(enum decide_preset preset, bool network,
    struct plan_path paths[PLAN_PATHS_MAX], struct decide_ceiling *ceiling)
{
	static const char *const workspaces[] = {"/ws", "/data/u/proj"};
	static const char *const read_only[] = {"/ws/server"};

	decide_ceiling_of(preset, network,
	    &(struct decide_places){.workspaces = workspaces,
		.workspace_count = 2,
		.read_only = read_only,
		.read_only_count = 1},
	    paths, ceiling);
}

static const struct bytes one_root[] = {
    {(const uint8_t *)"/ws", 3},
};

struct decide_request
words_request(const struct words *w)
{
	return (struct decide_request){.sandbox = DECIDE_SANDBOX_RESTRICTED,
	    .entries = w->entries,
	    .entry_count = w->count,
	    .names = {.cwd = bytes_of("/ws"),
		.roots = one_root,
		.root_count = 1,
		.tmpdir = bytes_of("/tmp")}};
}

const struct plan_path *
words_find(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->path_count; i++)
		if (strcmp(plan->paths[i].path, path) == 0)
			return &plan->paths[i];
	return NULL;
}
