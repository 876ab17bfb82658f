/*
 * A file worker to play net to: forked, under its real filter, in a new
 * directory which is also the present one. Waiting ends with the test after
 * WORKER_DEADLINE_MS.
 */
#ifndef TESTS_UNIT_WORKER_H
#define TESTS_UNIT_WORKER_H

#include <sys/types.h>

#include "privsep/channel.h"
#include "tests/unit/unit.h"

#define WORKER_DEADLINE_MS 60000

struct rig {
	struct channel *net;
	pid_t pid;
	char dir[64];	       /* absolute */
	uint32_t number;       /* of the last request */
	bool without_nameless; /* for rig_start: a system without O_TMPFILE */
};

/* cmocka setup and teardown; *state is the rig. The teardown checks that the
 * worker left with status 0 at the end of its channel. */
int rig_setup(void **state);
int rig_teardown(void **state);
#define WORKER_TEST(name)                                                      \
	cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

/* The parts of that: a worker for rig, which has a directory. */
void rig_start(struct rig *rig);
/* Close the channel and return the worker's wait status. */
int rig_stop(struct rig *rig);

/* Wait for the next message. Release it with msg_done. */
void rig_receive(struct rig *rig, struct msg *m);
/* Whether one comes within ms milliseconds. */
bool rig_is_readable(const struct rig *rig, int ms);

/* The absolute path of name in the directory: a string that stays valid for
 * the next seven calls. "" is the directory itself. */
struct bytes at(const struct rig *rig, const char *name);

/* Wait for the answer to rig->number and check it. */
void rig_done(struct rig *rig);
void rig_failed(struct rig *rig, enum fs_failure failure, int errnum);
/* Any answer but a failure; its type must be type. */
void rig_answer(struct rig *rig, enum msg_type type, struct msg *m);

/* Requests. name is below the directory, or absolute. */
void rig_read_file(struct rig *rig, const char *name);
void rig_write_file(struct rig *rig, const char *name, const char *text,
    bool atomic);
void rig_remove(struct rig *rig, const char *name, uint32_t flags);
void rig_copy(struct rig *rig, const char *from, const char *to,
    bool recursive);
void rig_mkdir(struct rig *rig, const char *name, bool recursive);
void rig_open(struct rig *rig, uint32_t handle, const char *name, bool replace);

/* Put a file with this text, or read one (up to 4095 bytes, static). */
void file_put(const char *name, const char *text);
const char *file_get(const char *name);
/* Entries of a directory but "." and "..". */
unsigned int entries_in(const char *dir);
/* Remove a directory with all that is in it. */
void remove_all(const char *dir);

#endif
