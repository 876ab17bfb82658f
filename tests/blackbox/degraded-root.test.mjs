// As degraded.test.mjs, for root in a container without CAP_SYS_ADMIN: programs
// run as the owner of the workspace.
process.env.SALLYPORT_AS_ROOT = '1';
await import('./degraded.test.mjs');
