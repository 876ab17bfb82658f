#include "supervisor/own_home.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

/* What [env] has unless it is told otherwise: policy/env.h. */
#define BUILTIN_HOME "HOME=/tmp/home"

int
own_home_use(struct config *c, struct err *e)
{
	FILE *f = NULL;
	scoped_free char *text = NULL;
	const struct passwd *pw = NULL;
	int r = 0;

	if (c->preset == PRESET_OPEN && list_has(&c->env_set, BUILTIN_HOME))
		f = fopen("/etc/passwd", "re");
	while (f != NULL && (pw = fgetpwent(f)) != NULL)
		if (pw->pw_uid == geteuid())
			break;
	if (pw != NULL && pw->pw_dir[0] == '/')
		r = asprintf(&text, "HOME=%s", pw->pw_dir) < 0
			? -ENOMEM
			: config_set(c, CONFIG_PRESET, "env", "set", text, e);
	if (f != NULL)
		(void)fclose(f);
	return r;
}

int
own_home_scratch(struct config *c, const char *scratch, struct err *e)
{
	char text[64];
	int r;

	(void)snprintf(text, sizeof text, "TMPDIR=%s", scratch);
	r = config_set(c, CONFIG_PRESET, "env", "set", text, e);
	(void)snprintf(text, sizeof text, "HOME=%s/home", scratch);
	if (r == 0 && list_has(&c->env_set, BUILTIN_HOME))
		r = config_set(c, CONFIG_PRESET, "env", "set", text, e);
	return r;
}
