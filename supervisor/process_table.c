#include "supervisor/process_table.h"

#include <string.h>

const struct process_row process_rows[] = {
    {.name = "supervisor",
	.title = "supervisor",
	.program = "sallyport serve",
	.does = "Reads the configuration, opens the socket, the workspaces and "
		"the other programs once, starts and watches the roles, writes "
		"log and audit.",
	.cannot = "read a byte of a client, or open a path that a client names",
	.runs_as = "the user who started the server",
	.uid_key = -1,
	.capabilities = "as an ordinary user none; as root these, to start "
			"roles with:",
	.namespaces = "the host's",
	.files =
	    "opened before its lock-down; on SIGHUP the configuration, the "
	    "files that it names and the audit log again; the audit socket "
	    "also "
	    "when its reader has gone",
	.descriptors = "the listening socket, the workspaces and programs, a "
		       "channel and a log pipe of each role, the audit log",
	.lockdown =
	    "no new privileges, not dumpable, only the capabilities that "
	    "starting a role takes, none of them passing file permissions; "
	    "filter supervisor"},
    {.name = "net",
	.title = "net",
	.program = "sallyport-net",
	.does = "Speaks WebSocket and JSON-RPC with clients; keeps sessions, "
		"numbers and output.",
	.cannot = "open, connect, start or fork anything: its filter ends it",
	.runs_as = "as root a user id of its own; else the user in a user "
		   "namespace",
	.uid_key = KEY_NET_UID,
	.capabilities = "none, and an empty bounding set",
	.namespaces = "own mount, network (no interface up), ipc and uts "
		      "namespace; as an ordinary user also a user namespace",
	.files = "an empty root",
	.descriptors = "the listening socket, clients' sockets, the channels, "
		       "and of each program stdin, stdout, stderr or terminal",
	.lockdown =
	    "a user id of its own (sandbox.net_uid) or a user namespace, no "
	    "groups, no capability, empty root, own mount, network, ipc and "
	    "uts namespace, no new privileges, not dumpable, Landlock; filter "
	    "net"},
    {.name = "exec",
	.title = "exec",
	.program = "sallyport-exec",
	.does = "Decides what a request gets, builds sandboxes, starts, "
		"signals and reaps.",
	.cannot = "parse JSON or WebSocket, or see what a program prints: it "
		  "links and holds neither",
	.runs_as = "as root user 0 with few capabilities; else the user in a "
		   "user namespace",
	.uid_key = -1,
	.capabilities = "none that passes file permissions; but these:",
	.namespaces = "own mount namespace; as an ordinary user also a user "
		      "namespace",
	.files = "the host's, as its user may",
	.descriptors = "the workspaces, the sessions' namespaces, a pidfd and "
		       "a control socket of each program, the channels",
	.lockdown =
	    "as root the capabilities that making a sandbox takes and none "
	    "that passes file permissions, else a user namespace; no new "
	    "privileges, not dumpable; filter exec, which binds all below as "
	    "well"},
    {.name = "worker",
	.title = "file worker",
	.program = "a fork of sallyport-exec, for one permission profile",
	.does = "Reads, writes, lists and watches files for net, one call at a "
		"time, inside the sandbox of a profile.",
	.cannot = "execute, fork, open a socket, or reach a path that a "
		  "program of that profile could not",
	.runs_as = "as root a user id of its session; else the user",
	.uid_key = KEY_UID_BASE,
	.capabilities = "none",
	.namespaces = "what a program of its profile gets",
	.files = "the file view of its profile",
	.descriptors = "its channel to net, the log, files of its requests",
	.lockdown = "what a program of its profile gets, executes nothing; "
		    "filter worker, or bridge if it passes on what a worker "
		    "does where a backend's programs are"},
    {.name = "http",
	.title = "http",
	.program = "sallyport-http, one of a session that asks for it",
	.does = "Makes the HTTP requests of one session, where the guard lets "
		"it.",
	.cannot = "open a file, execute, fork, or connect where the guard "
		  "refuses",
	.runs_as = "as root a user id of its own; else the user in a user "
		   "namespace",
	.uid_key = KEY_HTTP_UID,
	.capabilities = "none",
	.namespaces = "own mount, ipc and uts namespace; the host's network",
	.files = "none after its start: certificates and resolver settings "
		 "were read before",
	.descriptors = "its channel, connections, bodies in memory",
	.lockdown =
	    "a user id of its own (sandbox.http_uid), no capability, a root "
	    "with nothing but what resolving and TLS take, no new privileges; "
	    "filter http"},
    {.name = "init",
	.title = "init",
	.program = "a fork of sallyport-exec, pid 1 of each program",
	.does = "Mounts the file view, writes the id map, reaps, passes "
		"signals on.",
	.cannot = "anything but that once the program runs",
	.runs_as = "the program's user id",
	.uid_key = KEY_UID_BASE,
	.capabilities = "those of setting up, until the program runs; then "
			"none",
	.namespaces = "the program's",
	.files = "the program's file view",
	.descriptors = "a status pipe and a control socket to exec, the "
		       "terminal's other side",
	.lockdown = "pid 1 of a program's namespace, its user id; filter init"},
    {.name = "child",
	.title = "program",
	.program = "what a client starts",
	.does = "Runs whatever its client asked for, within its file view.",
	.cannot = "gain a right that the policy does not give, or outlive its "
		  "session",
	.runs_as = "as root a user id of its session; else the user",
	.uid_key = KEY_UID_BASE,
	.capabilities = "none in any set, no new privileges",
	.namespaces = "own mount, pid and user namespace; network, ipc and uts "
		      "namespace of its session",
	.files = "the file view of its profile, held by mounts and by Landlock",
	.descriptors = "stdin, stdout and stderr, or a terminal; nothing else",
	.lockdown =
	    "the session's user id (sandbox.uid_base and up), no capability in "
	    "any set, no new privileges, own mount, pid and user namespace, "
	    "the session's ipc, uts and network namespace, Landlock; filter "
	    "child, and child_no_unix where the plan denies unix sockets"},
    {.name = "sweeper",
	.title = "sweeper",
	.program = "a fork of sallyport serve, on a host without mounts of "
		   "one's own",
	.does = "Removes the server's directory in /tmp when the server has "
		"ended, however that came.",
	.cannot = "follow a link, write a file, start or connect to anything",
	.runs_as = "as root the owner of the first workspace; else the user "
		   "who started the server",
	.uid_key = -1,
	.capabilities = "none",
	.namespaces = "the host's",
	.files = "the server's directory in /tmp",
	.descriptors = "that directory, and the end of the server",
	.lockdown = "no new privileges, not dumpable, no descriptor of the "
		    "server's; filter sweeper"},
    {.name = NULL},
};

const struct process_row *
process_row_find(const char *name)
{
	for (const struct process_row *p = process_rows; p->name != NULL; p++)
		if (strcmp(p->name, name) == 0)
			return p;
	return NULL;
}
