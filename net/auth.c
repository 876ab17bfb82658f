#include "net/auth.h"

#include <openssl/crypto.h>
#include <string.h>
#include <strings.h>

/* Whether host, without its port, is an address or localhost. */
static bool
host_is_local_form(struct bytes host)
{
	size_t len = 0;

	if (host.len > 0 && host.data[0] == '[')
		return memchr(host.data, ']', host.len) != NULL;
	while (len < host.len && host.data[len] != ':')
		len++;
	if (len == 9 &&
	    strncasecmp((const char *)host.data, "localhost", 9) == 0)
		return true;
	for (size_t i = 0; i < len; i++)
		if (host.data[i] != '.' &&
		    (host.data[i] < '0' || host.data[i] > '9'))
			return false;
	return len > 0;
}

int
auth_head(const struct auth_request *q)
{
	if (q->origin.data != NULL)
		return 403;
	if (q->host.data == NULL)
		return 400;
	return host_is_local_form(q->host) ? 0 : 403;
}

bool
auth_path_is(struct bytes path, const struct config *config)
{
	size_t want = strlen(config->path);

	/* The length is no secret; the bytes are. */
	return path.len == want &&
	       CRYPTO_memcmp(path.data, config->path, want) == 0;
}

int
auth_upgrade(const struct auth_request *q, const struct config *config)
{
	int status = auth_head(q);

	if (status != 0)
		return status;
	if (!auth_path_is(q->path, config) &&
	    !config->compat->wrong_path_upgrades)
		return 404;
	return bytes_is(q->version, "13") ? 0 : 400;
}
