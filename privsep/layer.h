/*
 * The layers of the sandbox that a host may lack, and their words: what exec
 * finds out by trying is told to net's clients and to the administrator.
 */
#ifndef PRIVSEP_LAYER_H
#define PRIVSEP_LAYER_H

#include <stddef.h>
#include <stdint.h>

/*
 * LAYER(NAME, "key of the probe's text", "words", "what needs it",
 *     "what to change"), in the order in which they are told.
 */
#define LAYERS(LAYER)                                                          \
	LAYER(SECCOMP, "seccomp", "system call filters", "every command",      \
	    "run a kernel with CONFIG_SECCOMP_FILTER; in a container, allow "  \
	    "seccomp(2)")                                                      \
	LAYER(NAMESPACES, "namespaces", "mount and process namespaces",        \
	    "every command",                                                   \
	    "run a kernel with CONFIG_NAMESPACES; in a container, allow "      \
	    "CAP_SYS_ADMIN, clone(2), unshare(2) and mount(2), or set "        \
	    "sandbox.degraded=allow")                                          \
	LAYER(USERNS, "userns", "user namespaces",                             \
	    "a server that was not started as root, and id-mapped mounts",     \
	    "allow user namespaces (see user_namespaces(7)), start the "       \
	    "server "                                                          \
	    "as root, or set sandbox.degraded=allow")                          \
	LAYER(NETNS, "netns", "network namespaces",                            \
	    "the network process, and commands with network: restricted",      \
	    "run a kernel with CONFIG_NET_NS; in a container, allow "          \
	    "CLONE_NEWNET, or set sandbox.degraded=allow")                     \
	LAYER(PROC, "proc", "fresh mounts of /proc", "every command",          \
	    "let the container's /proc be whole (podman: --security-opt "      \
	    "unmask=ALL), or set sandbox.degraded=allow")                      \
	LAYER(IDMAP, "idmap", "id-mapped mounts",                              \
	    "a workspace of root, with the server started as root",            \
	    "chown the workspace to another user, or move it to a file "       \
	    "system with id-mapped mounts")                                    \
	LAYER(LANDLOCK, "landlock", "Landlock", "a second hold on files",      \
	    "boot with landlock among the lsm= modules")                       \
	LAYER(SCOPE, "scope", "Landlock's scope of sockets (ABI 6)",           \
	    "network: enabled, and every command without namespaces",          \
	    "run Linux 6.12 or newer, or set profile.network=restricted or "   \
	    "sandbox.degraded=allow")                                          \
	LAYER(VIEWS, "views", "mounts of a program's own",                     \
	    "less access to a path than to the directory around it, denied "   \
	    "patterns, and any root but the host's",                           \
	    "let the server have user namespaces (see user_namespaces(7)) or " \
	    "start it as root, or ask for whole directories")                  \
	LAYER(CGROUP, "cgroup", "control groups",                              \
	    "limits.*_total and limits.session_cpu_percent",                   \
	    "give the server a control group of its own (systemd: "            \
	    "Delegate=yes), or set sandbox.degraded=allow")

enum layer {
	LAYER_NONE,
#define LAYER(name, key, words, needed_by, remedy) LAYER_##name,
	LAYERS(LAYER)
#undef LAYER
	    LAYER_COUNT
};

struct layer_row {
	const char *key, *words, *needed_by, *remedy;
};

/* Of a number that is no layer all words are "". */
const struct layer_row *layer_row(uint32_t layer);

/* The layer that a stage of a child's set-up (enum stage) takes;
 * LAYER_NONE if it is none of these. */
enum layer layer_of_stage(uint32_t stage);

/* Try to make a user namespace that is of use, in a process that ends at once.
 * 0, or the positive errno. */
int layer_try_userns(void);
/* The same for mounts of one's own, as a plain user in a user namespace. */
int layer_try_mounts(void);

/*
 * The namespaces (ROLE_NS_*) that net is to have and that this host does not
 * let it make, found out in processes that end at once. Where one of them is
 * a mount namespace, no process can have any.
 */
uint32_t layer_missing_namespaces(void);

#define LAYER_USERNS_WHY_MAX 128 /* bytes, the final NUL included */

/*
 * The setting of this host that keeps user namespaces from being made, as
 * words "set user.max_user_namespaces to more than 0" into out; the words of
 * the table where none is found. Needs /proc.
 */
void layer_userns_why(char out[LAYER_USERNS_WHY_MAX]);

#endif
