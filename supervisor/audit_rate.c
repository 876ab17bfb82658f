#include "supervisor/audit_rate.h"

#define LINE 1000u /* a line, in thousandths */

/* Let time pass. Tokens never pass the burst, so idle time is no credit. */
static void
refill(struct audit_bucket *b, uint64_t rate, uint64_t burst, uint64_t now_ms)
{
	uint64_t passed = now_ms - b->at_ms, full = burst * LINE;

	if (b->at_ms == 0 || passed >= full / rate + 1)
		b->tokens = full;
	else
		b->tokens += passed * rate;
	if (b->tokens > full)
		b->tokens = full;
	b->at_ms = now_ms;
}

/* Any bytes: the role chooses them. */
static unsigned int
slot_of(struct bytes session)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < session.len; i++)
		h = (h ^ session.data[i]) * 16777619u;
	return h % AUDIT_BUCKETS;
}

bool
audit_rate_take(struct audit_rate *l, enum role role, struct bytes session,
    uint64_t now_ms, uint64_t *dropped)
{
	struct audit_bucket *all = &l->roles[role];
	struct audit_bucket *one = &l->sessions[role][slot_of(session)];

	*dropped = 0;
	if (l->per_second == 0)
		return true;
	refill(all, l->per_second * AUDIT_ROLE_FACTOR,
	    l->burst * AUDIT_ROLE_FACTOR, now_ms);
	refill(one, l->per_second, l->burst, now_ms);
	if (one->tokens < LINE || all->tokens < LINE) {
		one->dropped++;
		return false;
	}
	one->tokens -= LINE;
	all->tokens -= LINE;
	*dropped = one->dropped;
	one->dropped = 0;
	return true;
}

uint64_t
audit_rate_forget(struct audit_rate *l)
{
	uint64_t sum = 0;

	for (int role = 0; role < ROLE_ANY; role++) {
		for (int i = 0; i < AUDIT_BUCKETS; i++) {
			sum += l->sessions[role][i].dropped;
			l->sessions[role][i].dropped = 0;
		}
	}
	return sum;
}
