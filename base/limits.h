/*
 * Every maximum. What an administrator may set is in limits.def; what the
 * wire or the kernel fixes is below, with its reason.
 */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include <stdint.h>

enum limit_unit { LIMIT_MS, LIMIT_BYTES, LIMIT_COUNT };

struct limits {
#define LIMIT(key, def, min, max, unit, reason) uint64_t key;
#include "base/limits.def"
};

struct limit_row {
	const char *key;
	uint64_t def, min, max;
	enum limit_unit unit;
	const char *reason;
};

#define LIMIT(key, def, min, max, unit, reason) +1
enum {
	LIMIT_ROWS = 0
#include "base/limits.def"
};

extern const struct limit_row limit_rows[LIMIT_ROWS];

/* The value of row i, to read or to set. i is below LIMIT_ROWS. */
uint64_t limits_get(const struct limits *l, unsigned int i);
void limits_set(struct limits *l, unsigned int i, uint64_t value);
/* Fill in the defaults. */
void limits_init(struct limits *l);

#define MIB (1024u * 1024u)

/* One JSON-RPC message from a client, all its fragments: bytes. */
#define RPC_MESSAGE_MAX	 (100u * MIB)
/* Nesting of arrays and objects; deeper is refused before parsing. */
#define RPC_DEPTH_MAX	 64
/* Values of a message: four lists of PROCESS_ITEMS_MAX pairs. */
#define RPC_VALUES_MAX	 (8u * 65536u)
/* A fragment of an outgoing message: clients refuse frames over 16 MiB. */
#define RPC_FRAGMENT_MAX (1u * MIB)
/* Bytes of a request id that is a string. */
#define RPC_ID_MAX	 1024
/* Bytes of a method name that an error repeats. */
#define RPC_METHOD_MAX	 256

/* Bytes of a processId. */
#define PROCESS_ID_MAX	   1024
/* Bytes of a writeId, and how many a process remembers. */
#define WRITE_ID_MAX	   1024
#define WRITE_IDS_MAX	   4096
/* Output kept for process/read, per process: bytes (the reference's). */
#define PROCESS_OUTPUT_MAX (1u * MIB)
/* Pieces of it: a program that writes single bytes must not fill memory with
 * the bookkeeping. */
#define PROCESS_CHUNKS_MAX 16384
/* Bytes read from a child's stream at a time. */
#define STREAM_READ_MAX	   (64u * 1024u)
/* argv, env and the rest of one start: above the kernel's 2 MiB of ARG_MAX. */
#define PROCESS_SPEC_MAX   (4u * MIB)
/* Items of argv, and of env, exclude, set, includeOnly each. */
#define PROCESS_ITEMS_MAX  65536
/* Bytes of a path, its NUL included (PATH_MAX). */
#define PATH_LEN_MAX	   4096
/* Characters of a file URI: each byte of a path takes at most three. */
#define URI_MAX		   (3 * PATH_LEN_MAX + 64)
/* Rows and columns of a terminal (struct winsize holds 16 bits). */
#define TTY_SIZE_MAX	   65535

/* A record on a channel: half of what default socket buffers pass. */
#define CHANNEL_RECORD_MAX (64u * 1024u)
/* Descriptors in one record. */
#define CHANNEL_FDS_MAX	   32
/* What a channel holds while its peer does not read. */
#define CHANNEL_QUEUE_MAX  4096 /* records */
#define CHANNEL_BYTES_MAX  (8u * MIB)
/* A blob of up to this many bytes stays in the record, a larger one is sent
 * as a sealed memfd. */
#define CHANNEL_INLINE_MAX (32u * 1024u)

/* fs/readFile: bytes of a file (the reference's). */
#define FS_READ_MAX		(512u * MIB)
/* Bytes of one block of a file handle, and handles of a connection. */
#define FS_BLOCK_MAX		(1u * MIB)
#define FS_HANDLES_MAX		128
/* Watches of a connection. */
#define FS_WATCHES_MAX		128
/* The paths of one watch, packed: bytes. */
#define FS_WATCH_PATHS_MAX	49152u
/* A packed directory listing or walk: bytes. The answer, at most six times as
 * long with every byte of a name escaped, still is a message of its own. */
#define FS_LISTING_MAX		(16u * MIB)
/* Bounds of fs/walk (the reference's). */
#define FS_WALK_DEPTH_MAX	64
#define FS_WALK_DIRECTORIES_MAX 10000
#define FS_WALK_ENTRIES_MAX	50000

/* http/request: bytes of a method and of a URL, of a request's or response's
 * headers when packed, and of a stream's body that may be under way to net. */
#define HTTP_METHOD_MAX	 256
#define HTTP_URL_MAX	 (16u * 1024u)
#define HTTP_HEADERS_MAX (256u * 1024u)
#define HTTP_WINDOW	 (256u * 1024u)
/* Headers of a request. */
#define HTTP_FIELDS_MAX	 4096
/* Rules of one [http] list, bytes of a rule, and of the whole when packed. */
#define HTTP_RULES_MAX	 256
#define HTTP_RULE_MAX	 320u
#define HTTP_POLICY_MAX	 (256u * 1024u)

/* A sandbox object: entries, workspace roots, bytes when packed, and the rules
 * that its entries become, one for each root. */
#define SANDBOX_ENTRIES_MAX    1024
#define SANDBOX_ROOTS_MAX      64
#define SANDBOX_SPEC_MAX       (256u * 1024u)
#define SANDBOX_RULES_MAX      4096
/* Patterns of one object that are no plain directory, and their bytes in all:
 * each is held against paths while it is decided, and against every file that
 * is looked through. */
#define SANDBOX_GLOBS_MAX      64
#define SANDBOX_GLOB_BYTES_MAX (16u * 1024u)
/* What a start does for its patterns: files looked through, levels of
 * directories, milliseconds, and mounts (masks, and directories held). */
#define GLOB_ENTRIES_MAX       200000
#define GLOB_DEPTH_MAX	       64
#define GLOB_TIME_MAX_MS       3000
#define GLOB_MOUNTS_MAX	       2048
/* Mounts that a plan takes, those of its patterns not counted. */
#define VIEW_SOURCES_MAX       1024

/* EXEC_POLICY: a packed ceiling, and a filter of BPF_MAXINSNS: bytes. */
#define EXEC_CEILING_MAX    (24u * 1024u)
#define EXEC_FILTER_MAX	    (32u * 1024u)
/* Of a command of [backend], and of its target. */
#define BACKEND_TEXT_MAX    4096u
/* What its command for a file worker may say before that is out of reach. */
#define FS_LOST_TEXT_MAX    512u
/* The program of a file worker that is sent to another place. */
#define WORKER_PROGRAM_MAX  (32u * MIB)
/* Sockets of the host that its commands may use. */
#define BACKEND_SOCKETS_MAX 8

/* Workspaces of a server, and files of its own that lie in them. */
#define WORKSPACES_MAX	 16
#define PROTECTED_MAX	 32
/* Names and patterns of one [env] list. */
#define ENV_PATTERNS_MAX 256
/* Bytes of the whole [env] base and of each pattern list, packed. */
#define ENV_CONFIG_MAX	 (16u * 1024u)

#endif
