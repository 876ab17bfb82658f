/*
 * A file worker: serves the fs messages of net on one channel (msg.def, "net
 * and a file worker"). It knows nothing of exec: whoever calls it has entered
 * the sandbox of a permission profile before, and the kernel judges every
 * path that it opens.
 */
#ifndef EXEC_WORKER_FS_H
#define EXEC_WORKER_FS_H

/*
 * Serve channel_fd (taken; non-blocking), as ROLE_WORKER with ROLE_NET at the
 * other end, one request at a time, until that end closes. May run under
 * policy/syscalls/worker.policy. Blocks SIGPIPE and SIGXFSZ. Returns the exit
 * status: 0 at the end of the channel, 1 if net broke the contract or the
 * channel failed.
 */
int worker_fs_run(int channel_fd);

/*
 * Block SIGPIPE and SIGXFSZ, so that a reader that goes, and a file that passes
 * a limit, are errors to be told: for what stands in for a file worker.
 */
void worker_fs_block_signals(void);

#endif
