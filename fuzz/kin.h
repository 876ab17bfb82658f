/*
 * What exec starts, without starting it: a process is an event descriptor that
 * becomes readable when it has ended, beside the sockets and pipes of the real
 * one. The linker's --wrap puts these in the place of spawn(), template_begin()
 * and the like.
 */
#ifndef FUZZ_KIN_H
#define FUZZ_KIN_H

#include "fuzz/fuzz.h"

void kin_begin(void);
/* Assert that whatever was started has ended or was killed, and close all. */
void kin_end(void);

/* One event of one of them, that the input chooses: it says something, honest
 * or not, or it ends. */
void kin_event(struct reader *r);
/* Those that were killed end. */
void kin_reap(void);

#endif
