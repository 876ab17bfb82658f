#include "net/sandbox.h"

#include <errno.h>
#include <string.h>

/* A string member that must be there. */
static int
text_member(const json_t *object, const char *name, const char **out,
    struct err *e)
{
	const json_t *v = json_object_get(object, name);

	if (v == NULL)
		return err_set(e, EINVAL, "missing field `%s`", name);
	if (!json_is_string(v))
		return err_set(e, EINVAL,
		    "invalid type, expected a string for `%s`", name);
	*out = json_string_value(v);
	return 0;
}

static int
unknown_variant(const char *name, const char *value, const char *expected,
    struct err *e)
{
	return err_set(e, EINVAL,
	    "unknown variant `%.40s` for `%s`, expected %s", value, name,
	    expected);
}

static int
decode_network(const json_t *permissions, struct spec *s, struct err *e)
{
	const char *network;
	int r = text_member(permissions, "network", &network, e);

	if (r < 0)
		return r;
	if (strcmp(network, "enabled") == 0)
		s->sandbox_network_enabled = true;
	else if (strcmp(network, "restricted") != 0)
		return unknown_variant("network", network,
		    "`restricted` or `enabled`", e);
	return 0;
}

static int
decode_file_system(const json_t *permissions, struct spec *s, struct err *e)
{
	const json_t *fs = json_object_get(permissions, "file_system");
	const char *type;
	int r;

	if (fs == NULL)
		return err_set(e, EINVAL, "missing field `file_system`");
	if (!json_is_object(fs))
		return err_set(e, EINVAL,
		    "invalid type, expected an object for `file_system`");
	r = text_member(fs, "type", &type, e);
	if (r < 0)
		return r;
	if (strcmp(type, "unrestricted") == 0) {
		s->sandbox = SANDBOX_UNRESTRICTED;
		return 0;
	}
	if (strcmp(type, "restricted") != 0)
		return unknown_variant("type", type,
		    "`restricted` or `unrestricted`", e);
	s->sandbox = SANDBOX_RESTRICTED;
	if (!json_is_array(json_object_get(fs, "entries")))
		return err_set(e, EINVAL, "missing field `entries`");
	return 0;
}

static int
decode_permissions(const json_t *permissions, struct spec *s, struct err *e)
{
	const char *type;
	int r = text_member(permissions, "type", &type, e);

	if (r < 0)
		return r;
	if (strcmp(type, "disabled") == 0) {
		s->sandbox = SANDBOX_DISABLED;
		s->sandbox_network_enabled = true;
		return 0;
	}
	if (strcmp(type, "external") == 0)
		s->sandbox = SANDBOX_EXTERNAL;
	else if (strcmp(type, "managed") == 0)
		r = decode_file_system(permissions, s, e);
	else
		return unknown_variant("type", type,
		    "`managed`, `disabled` or `external`", e);
	return r < 0 ? r : decode_network(permissions, s, e);
}

int
sandbox_decode(json_t *object, bool strict, struct spec *s, struct err *e)
{
	const json_t *permissions;
	const char *level;
	int r;

	s->sandbox = SANDBOX_NULL;
	if (object == NULL)
		return 0;
	permissions = json_object_get(object, "permissions");
	if (permissions == NULL)
		return err_set(e, EINVAL, "missing field `permissions`");
	if (!json_is_object(permissions))
		return err_set(e, EINVAL,
		    "invalid type, expected an object for `permissions`");
	r = decode_permissions(permissions, s, e);
	if (r < 0 || !strict)
		return r;
	return text_member(object, "windowsSandboxLevel", &level, e);
}
