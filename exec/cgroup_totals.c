#include "exec/cgroup_totals.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "exec/cgroup_file.h"
#include "exec/raw.h"

/* The time in which a share of the CPUs is used up: microseconds. */
#define CPU_PERIOD_US 100000

bool
cgroup_totals_any(const struct cgroup_totals *t)
{
	return t->memory > 0 || t->processes > 0 || t->cpu_percent > 0 ||
	       t->cpu_time_ms > 0;
}

struct cgroup_totals
cgroup_totals_session(const struct limits *l)
{
	return (struct cgroup_totals){.memory = l->session_memory_total,
	    .processes = l->session_processes_total,
	    .cpu_percent = l->session_cpu_percent};
}

struct cgroup_totals
cgroup_totals_command(const struct limits *l)
{
	return (struct cgroup_totals){.memory = l->child_memory_total,
	    .processes = l->child_processes_total,
	    .cpu_time_ms = l->child_cpu_time_total};
}

bool
cgroup_wanted(const struct limits *l)
{
	const struct cgroup_totals session = cgroup_totals_session(l);
	const struct cgroup_totals command = cgroup_totals_command(l);

	return cgroup_totals_any(&session) || cgroup_totals_any(&command);
}

/* Two controllers that are mounted as one have one group. */
static enum cgroup_hierarchy
first_with(const struct cgroup_places *p, enum cgroup_hierarchy h)
{
	size_t i = 0;

	while (p->path[i] == NULL || strcmp(p->path[i], p->path[h]) != 0)
		i++;
	return (enum cgroup_hierarchy)i;
}

/* Where a controller is set: in version 1 if it is there. */
static int
choose(const struct cgroup_places *p, enum cgroup_hierarchy v1, bool wanted,
    bool use[CGROUP_HIERARCHIES], enum cgroup_hierarchy *out)
{
	*out = p->path[v1] != NULL ? first_with(p, v1) : CGROUP_V2;
	if (!wanted)
		return 0;
	if (p->path[*out] == NULL)
		return -EOPNOTSUPP;
	use[*out] = true;
	return 0;
}

int
cgroup_carriers_choose(struct cgroup_carriers *c, const struct cgroup_places *p,
    const struct cgroup_totals *session, const struct cgroup_totals *command,
    bool use[CGROUP_HIERARCHIES])
{
	bool memory = session->memory > 0 || command->memory > 0;
	bool processes = session->processes > 0 || command->processes > 0;
	bool cpu = session->cpu_percent > 0 || command->cpu_percent > 0;
	int r = choose(p, CGROUP_V1_MEMORY, memory, use, &c->memory);

	if (r == 0 && command->cpu_time_ms > 0 && p->path[CGROUP_V2] == NULL)
		r = -EOPNOTSUPP;
	use[CGROUP_V2] |= command->cpu_time_ms > 0;
	if (r == 0)
		r = choose(p, CGROUP_V1_PIDS, processes, use, &c->processes);
	return r < 0 ? r : choose(p, CGROUP_V1_CPU, cpu, use, &c->cpu);
}

/* Swap counts as memory in both versions. */
static int
set_memory(int dir, bool v2, uint64_t bytes)
{
	int r;

	if (v2) {
		r = cgroup_file_limit(dir, "memory.max", bytes);
		return r < 0 ? r
			     : cgroup_file_limit_if(dir, "memory.swap.max", 0);
	}
	r = cgroup_file_limit(dir, "memory.limit_in_bytes", bytes);
	return r < 0 ? r
		     : cgroup_file_limit_if(dir, "memory.memsw.limit_in_bytes",
			   bytes);
}

static int
set_cpu(int dir, bool v2, uint64_t percent)
{
	uint64_t quota = percent * (CPU_PERIOD_US / 100);
	char text[48];
	int r;

	if (v2) {
		(void)snprintf(text, sizeof text, "%llu %d",
		    (unsigned long long)quota, CPU_PERIOD_US);
		return raw_write_file_at(dir, "cpu.max", text);
	}
	r = cgroup_file_limit(dir, "cpu.cfs_period_us", CPU_PERIOD_US);
	return r < 0 ? r : cgroup_file_limit(dir, "cpu.cfs_quota_us", quota);
}

int
cgroup_totals_set(const struct cgroup_totals *t,
    const struct cgroup_carriers *c, const int dir[CGROUP_HIERARCHIES])
{
	int r = 0;

	if (t->memory > 0)
		r = set_memory(dir[c->memory], c->memory == CGROUP_V2,
		    t->memory);
	if (r == 0 && t->processes > 0)
		r = cgroup_file_limit(dir[c->processes], "pids.max",
		    t->processes);
	if (r == 0 && t->cpu_percent > 0)
		r = set_cpu(dir[c->cpu], c->cpu == CGROUP_V2, t->cpu_percent);
	return r;
}

void
cgroup_totals_words(const struct cgroup_totals *session,
    const struct cgroup_totals *command, const struct cgroup_carriers *c,
    char out[CGROUP_WORDS_MAX])
{
	const struct {
		const char *word;
		enum cgroup_hierarchy carrier;
		bool wanted;
	} rows[] = {
	    {"+memory", c->memory, session->memory > 0 || command->memory > 0},
	    {"+pids", c->processes,
		session->processes > 0 || command->processes > 0},
	    {"+cpu", c->cpu,
		session->cpu_percent > 0 || command->cpu_percent > 0},
	};

	out[0] = '\0';
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		size_t used = strlen(out);

		if (rows[i].wanted && rows[i].carrier == CGROUP_V2)
			(void)snprintf(out + used, CGROUP_WORDS_MAX - used,
			    "%s%s", used == 0 ? "" : " ", rows[i].word);
	}
}
