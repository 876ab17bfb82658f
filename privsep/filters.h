/*
 * The compiled system call policies. policy/syscalls/NAME.policy is turned
 * into filter_NAME.c at build time (policy/meson.build); an executable links
 * just those that it loads.
 */
#ifndef PRIVSEP_FILTERS_H
#define PRIVSEP_FILTERS_H

#include <linux/filter.h>

extern const struct sock_fprog filter_supervisor;
extern const struct sock_fprog filter_net;
extern const struct sock_fprog filter_exec;
extern const struct sock_fprog filter_init;
extern const struct sock_fprog filter_child;
/* These stand before filter_child, each where it is due. */
extern const struct sock_fprog filter_child_no_unix;
extern const struct sock_fprog filter_child_no_network;
extern const struct sock_fprog filter_child_no_attributes;
extern const struct sock_fprog filter_child_bare;
extern const struct sock_fprog filter_worker;
extern const struct sock_fprog filter_bridge;
extern const struct sock_fprog filter_http;
extern const struct sock_fprog filter_sweeper;

#endif
