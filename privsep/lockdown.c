#include "privsep/lockdown.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

int
lockdown(const struct sock_fprog *filter)
{
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, filter) < 0)
		return -errno;
	return 0;
}
