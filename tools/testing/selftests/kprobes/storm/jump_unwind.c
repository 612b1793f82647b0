// SPDX-License-Identifier: GPL-2.0
/*
 * What an interrupt has come upon: which instruction of a place, of a detour,
 * or of what all detours have in common; and whether the stack leads from there
 * to those who have called.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/sched.h>
#include <linux/stacktrace.h>
#include <linux/string.h>
#include "jumps.h"

#define MOST	48

/* In which way the stack of each of our threads ends. */
#define ENDS	ARCH_BELOW_THREAD

static unsigned long ends[ENDS];
static bool ends_known;

void jump_learn_end(void)
{
	unsigned long trace[MOST];
	unsigned int len = stack_trace_save(trace, MOST, 0);

	if (len <= ENDS)
		return;
	memcpy(ends, trace + len - ENDS, sizeof(ends));
	/* Who finds it set finds the ends, too. */
	smp_store_release(&ends_known, true);
}

static struct jump_target *target_of(unsigned long slot)
{
	unsigned long site = arch_site_of_detour(slot);

	FOR_EACH_JUMP(target)
		if (site == (unsigned long)target->site)
			return target;
	return NULL;
}

static bool is_in(const struct jump_target *target, unsigned long at)
{
	return at - (unsigned long)target->function <
	       target->site - target->function + JUMP_TEXT;
}

/* From the function on: who called it, and who is below. */
static bool is_called_rightly(const unsigned long *trace, unsigned int len)
{
	if (!ARCH_HIDES_CALLERS &&
	    (!len || (trace[0] != (unsigned long)storm_came_back_once &&
		      trace[0] != (unsigned long)storm_came_back)))
		return false;
	/* The ends are read behind it: see jump_learn_end(). */
	return !smp_load_acquire(&ends_known) ||
	       (len > ENDS &&
		!memcmp(trace + len - ENDS, ends, sizeof(ends)));
}

/* An instruction that may have a probe of ours. */
static bool is_start(const struct jump_target *target, unsigned long at)
{
	unsigned long into = at - (unsigned long)target->site;

	return at == (unsigned long)target->function ||
	       at == (unsigned long)target->site - ARCH_BEFORE ||
	       (into < JUMP_TEXT && target->text[into].original);
}

/* A place as a trap tells of it, or as what is about to run. */
static bool is_right_from_common(const unsigned long *trace, unsigned int len)
{
	FOR_EACH_JUMP(target)
		if (is_start(target, trace[0] - ARCH_TRAP_SIZE) ||
		    is_start(target, trace[0]))
			return is_called_rightly(trace + 1, len - 1);
	return false;
}

/* TARGET: of what; none: of what all have in common. */
static bool is_right(const struct jump_target *target, unsigned long original,
		     const unsigned long *trace, unsigned int len)
{
	const bool bare = !target &&
		ARCH_DETOUR_FRAMELESS(original - jump_common_at);
	unsigned int n;

	for (n = 0; n < len && trace[n] != original; n++)
		if (bare && is_right_from_common(trace + n, len - n))
			return true;
	if (++n >= len)
		return false;
	if (!target)
		return is_right_from_common(trace + n, len - n);
	/* What the function has called returns to it. */
	if (!is_in(target, original) && is_in(target, trace[n]))
		n++;
	return is_called_rightly(trace + n, len - n);
}

static void tell(unsigned long ip, unsigned long original,
		 const unsigned long *trace, unsigned int len)
{
	if (atomic_long_inc_return(&jump_counts.unwound_wrongly) > 10)
		return;
	pr_err("unwound wrongly from %pS, which stands for %pS:\n", (void *)ip,
	       (void *)original);
	stack_trace_print(trace, len, 4);
}

static void unwind(const struct jump_target *target, unsigned long ip,
		   unsigned long original)
{
	unsigned long trace[MOST];
	unsigned int len = stack_trace_save(trace, MOST, 0);

	if (is_right(target, original, trace, len))
		atomic_long_inc(&jump_counts.unwound);
	else
		tell(ip, original, trace, len);
}

/* Nobody may be there: it would run the jump's displacement. */
static bool is_under_jump(struct jump_target *target, unsigned long into)
{
	return into > 0 && into < ARCH_JUMP_SIZE && jump_is_there(target);
}

static struct jump_spot *find(unsigned long ip, struct jump_target **target)
{
	struct jump_target *each;
	unsigned long into = ip - jump_common_at;

	*target = NULL;
	if (into < JUMP_COMMON)
		/* What is behind it is not ours. */
		return jump_common[into].original ? &jump_common[into] : NULL;
	for (each = jump_targets; each < jump_targets + JUMPS; each++) {
		into = ip - (unsigned long)each->site;
		if (into >= JUMP_TEXT)
			continue;
		/* Another function may be behind it. */
		if (!each->text[into].original)
			return NULL;
		*target = each;
		return &each->text[into];
	}
	each = target_of(round_down(ip, JUMP_SLOT));
	*target = each;
	return each ? &each->slot[ip % JUMP_SLOT] : NULL;
}

/* What was interrupted; it may be put aside there. */
void jump_look(struct pt_regs *regs, bool put_aside)
{
	unsigned long ip = instruction_pointer(regs);
	struct jump_target *target;
	struct jump_spot *spot = find(ip, &target);

	if (!spot)
		return;
	if (!spot->original ||
	    (target && is_under_jump(target,
				     ip - (unsigned long)target->site))) {
		if (atomic_long_inc_return(&jump_counts.astray) < 10)
			pr_err("nobody is to be at %pS, %s\n", (void *)ip,
			       target->name);
		return;
	}
	atomic_long_inc(&spot->seen);
	unwind(target, ip, spot->original);
	if (put_aside) {
		set_tsk_need_resched(current);
		set_preempt_need_resched();
	}
}

/* Who handles a hit by a jump finds where that was, and who has called. */
void jump_look_from_handler(struct pt_regs *regs)
{
	unsigned long ip = instruction_pointer(regs);
	unsigned long trace[MOST];
	unsigned int n, len;

	if (arch_client(regs))
		return;
	len = stack_trace_save(trace, MOST, 0);
	/* What is said there is the next address, as a trap would say. */
	for (n = 0; n + 1 < len; n++) {
		if (trace[n] != ip && trace[n] + ARCH_TRAP_SIZE != ip)
			continue;
		if (is_called_rightly(trace + n + 1, len - n - 1)) {
			atomic_long_inc(&jump_counts.unwound);
			return;
		}
	}
	tell(ip, ip, trace, len);
}
