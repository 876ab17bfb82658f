#include "privsep/report.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "privsep/privdrop.h"

int
namespaces_read(struct namespaces *out)
{
	struct namespaces ns = {0};
	const struct {
		const char *path;
		uint64_t *inode;
	} all[] = {
	    {"/proc/self/ns/user", &ns.user},
	    {"/proc/self/ns/mnt", &ns.mnt},
	    {"/proc/self/ns/net", &ns.net},
	    {"/proc/self/ns/pid", &ns.pid},
	    {"/proc/self/ns/ipc", &ns.ipc},
	    {"/proc/self/ns/uts", &ns.uts},
	};
	struct stat st;

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		if (stat(all[i].path, &st) < 0)
			return -errno;
		*all[i].inode = st.st_ino;
	}
	*out = ns;
	return 0;
}

uint32_t
namespaces_differ(const struct namespaces *a, const struct namespaces *b)
{
	uint32_t bits = 0;

	bits |= a->user != b->user ? ROLE_NS_USER : 0;
	bits |= a->mnt != b->mnt ? ROLE_NS_MNT : 0;
	bits |= a->net != b->net ? ROLE_NS_NET : 0;
	bits |= a->pid != b->pid ? ROLE_NS_PID : 0;
	bits |= a->ipc != b->ipc ? ROLE_NS_IPC : 0;
	bits |= a->uts != b->uts ? ROLE_NS_UTS : 0;
	return bits;
}

int
report_fill(struct msg_role_ready *r)
{
	uid_t ru, eu, su;
	gid_t rg, eg, sg;
	struct caps caps;
	int rc, groups;

	rc = privdrop_caps_read(&caps);
	if (rc < 0)
		return rc;
	if (getresuid(&ru, &eu, &su) < 0 || getresgid(&rg, &eg, &sg) < 0)
		return -errno;
	groups = getgroups(0, NULL);
	if (groups < 0)
		return -errno;
	r->uid = eu;
	r->gid = eg;
	r->groups = (uint32_t)groups;
	r->caps_effective = caps.effective;
	r->caps_permitted = caps.permitted;
	r->caps_bounding = caps.bounding;
	r->no_new_privs = (uint32_t)prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	r->seccomp = (uint32_t)prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
	r->dumpable = (uint32_t)prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
	return 0;
}
