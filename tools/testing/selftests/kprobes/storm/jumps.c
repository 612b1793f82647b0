// SPDX-License-Identifier: GPL-2.0
/*
 * A storm of jumps. Writing a number of seconds to the parameter "jumps" or
 * "jumps_loose" lets it rage for so long, to "boundaries" for so long at most:
 * till interrupts have come at each instruction of places and detours.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kthread.h>
#include <linux/moduleparam.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include "jumps.h"

struct jump_target jump_targets[JUMPS] = ARCH_JUMPS;

struct jump_counts jump_counts;
bool jump_strict;
int jump_choice = JUMPS;

/* Are boundaries watched, and is it time for the rare ones? */
static bool watching, rarely;

/* Too little has been seen, though there was time. */
bool jump_is_short;

bool jump_is_there(struct jump_target *target)
{
	return arch_jump_at(target->site);
}

bool jump_are_there(int first)
{
	while (first && jump_is_there(&jump_targets[first - 1]))
		first--;
	return !first;
}

static void fill(struct storm_registers *registers, unsigned long who,
		 bool carry, u32 seed)
{
	storm_fill(registers, seed);
	registers->client = who;
	registers->flags &= ~ARCH_CARRY;
	registers->flags |= carry ? ARCH_CARRY : 0;
}

/* All that a function leaves must be what its twin has left. */
static void run(struct jump_target *target, const struct storm_registers *given,
		const struct storm_registers *right, int times)
{
	struct storm_registers registers = *given;

	atomic_long_add(times, &target->calls);
	storm_ran(times);
	storm_run(&registers, target->function, times);
	storm_is_right(target->name, given, right, &registers,
		       &jump_counts.wrong);
}

void jump_call(struct jump_target *target, unsigned long who, bool carry)
{
	struct storm_registers given, right;

	fill(&given, who, carry, who);
	right = given;
	storm_run(&right, target->twin, 1);
	run(target, &given, &right, 1);
}

/* Jumps come and go while one task looks. */
static void watch(void)
{
	FOR_EACH_JUMP(target) {
		bool is_jump = jump_is_there(target);

		target->came += is_jump && !target->was_jump;
		target->went += !is_jump && target->was_jump;
		target->was_jump = is_jump;
	}
}

static int hitter(void *number)
{
	struct rnd_state random;

	jump_learn_end();
	/* Half of them wait for long when they are put aside. */
	if ((long)number % 2 && !watching)
		set_user_nice(current, MAX_NICE);
	prandom_seed_state(&random, 0x6a756d70 + (long)number);
	while (!READ_ONCE(storm_over)) {
		u32 bits = prandom_u32_state(&random);
		struct jump_target *target = jump_random(bits >> 1);
		/* What else is done is to take little time, if need be. */
		int at_once = watching && !READ_ONCE(rarely) ? 8 : 1;
		struct storm_registers given, right;
		int times;

		fill(&given, 0, bits & 1, bits);
		right = given;
		storm_run(&right, target->twin, at_once);
		for (times = 0; times < 64; times += at_once)
			run(target, &given, &right, at_once);
		if (!number)
			watch();
		/*
		 * Sleeping lets the other CPUs run, which are emulated by turns
		 * of a tenth of a second.
		 */
		if (watching ? !(bits & 0x1f00) : bits & 0x700)
			usleep_range(20, 200);
		else
			cond_resched_tasks_rcu_qs();
	}
	return 0;
}

void jump_count_hit(struct jump_target *target, struct pt_regs *regs)
{
	if (came_by_jump(regs))
		atomic_long_inc(&target->by_jump);
	else
		atomic_long_inc(&target->by_trap);
}

static int jump_handler(struct kprobe *kp, struct pt_regs *regs)
{
	struct jump_target *target = container_of(kp, struct jump_target,
						  anchor);
	unsigned long hits = atomic_long_inc_return(&target->hits);

	jump_count_hit(target, regs);
	if (READ_ONCE(rarely))
		set_preempt_need_resched();
	if (hits % 1024 == 0 && came_by_jump(regs))
		jump_look_from_handler(regs);
	return 0;
}

/* So many calls between ticks; fewer where each calls the scheduler. */
#define FEW	24
#define FEW_RARE 3
#define SOON	200

static unsigned int tick(struct pt_regs *regs, long number)
{
	atomic_long_inc(&jump_counts.ticks);
	if (regs)
		jump_look(regs, number & 1);
	if (!watching)
		jump_call(jump_random(number), number, number & 16);
	return storm_pace(watching ? SOON : storm_tick_us,
			  READ_ONCE(rarely) ? FEW_RARE : FEW);
}

/* Every other place has a probe all the time. */
static int drop_anchors(void)
{
	int n, err = 0;

	for (n = 0; n < JUMPS && !err; n += 2)
		err = storm_drop_anchor(&jump_targets[n].anchor, jump_handler,
					NULL);
	return err;
}

static int weigh_anchors(void)
{
	int n, err = 0;

	for (n = 0; n < JUMPS; n += 2)
		err = storm_weigh_anchor(&jump_targets[n].anchor) ?: err;
	return err;
}

static void begin_counting(void)
{
	WRITE_ONCE(jump_is_short, false);
	memset(&jump_counts, 0, sizeof(jump_counts));
	FOR_EACH_JUMP(target) {
		atomic_long_set(&target->by_jump, 0);
		atomic_long_set(&target->by_trap, 0);
		target->came = 0;
		target->went = 0;
		target->was_jump = false;
	}
}

/* With the optimizer asleep all would be well, and nothing shown. */
static bool is_enough(const struct jump_target *target)
{
	return atomic_long_read(&target->by_jump) &&
	       atomic_long_read(&target->by_trap) && target->came &&
	       target->went;
}

static time64_t long_enough;

int jump_wanted(u32 random)
{
	int n, at;

	for (n = 0; READ_ONCE(jump_is_short) && n < JUMPS; n++) {
		at = (random + n) % JUMPS;
		if (!is_enough(&jump_targets[at]))
			return at;
	}
	return random % JUMPS;
}

/*
 * Jumps come later under a storm than when their time was taken, on a machine
 * that has others to serve much later. If one was always gone before it came,
 * all have more time, but not so much that hardly any comes and goes; and this
 * one's place is where probes are put.
 */
#define PATIENCE	60
#define MOST_MS		10000U

static bool is_all_enough(void)
{
	int n, count = 0;

	if (ktime_get_seconds() < long_enough)
		return false;
	for (n = 0; n < JUMPS; n++)
		count += is_enough(&jump_targets[n]);
	if (count == JUMPS)
		return true;
	WRITE_ONCE(jump_is_short, true);
	WRITE_ONCE(jump_ms, min(4 * jump_ms, max(jump_ms, MOST_MS)));
	long_enough = ktime_get_seconds() + PATIENCE;
	return false;
}

static int weigh_jumps(void)
{
	int err = 0;

	FOR_EACH_JUMP(target) {
		pr_info("%-6s %8ld hits by jumps, %8ld by traps; %ld jumps came, %ld went%s\n",
			target->name, atomic_long_read(&target->by_jump),
			atomic_long_read(&target->by_trap), target->came,
			target->went, is_enough(target) ? "" : ": NOT ENOUGH");
		err = is_enough(target) ? err : -EIO;
	}
	return err;
}

#define COUNT(of, wanted)	STORM_COUNT(jump_counts, of, wanted)

static struct storm_count counted[] = {
	COUNT(wrong, COUNT_NONE), COUNT(late, COUNT_NONE),
	COUNT(refused, COUNT_NONE), COUNT(miscounted, COUNT_NONE),
	COUNT(astray, COUNT_NONE), COUNT(unwound_wrongly, COUNT_NONE),
	COUNT(unwound, COUNT_SOME), COUNT(rounds, COUNT_ANY),
	COUNT(ticks, COUNT_ANY), {}
};

module_param_cb(jump_counts, &storm_counts_ops, counted, 0400);

static int is_wrong(void)
{
	return storm_counts_are(counted, COUNT_NONE) &&
	       storm_counts_are(counted, COUNT_SOME) ? 0 : -EIO;
}

/* Where the machine is slow it rages longer, till all has come and gone. */
#define SECONDS_MORE	360

static int jumps(unsigned int seconds, bool strict)
{
	static const struct storm_crew crews[2] = {
		{ hitter, HITTERS }, { jump_churner, JUMP_CHURNERS },
	};
	int err;

	begin_counting();
	jump_strict = strict;
	err = strict ? drop_anchors() : 0;
	if (err)
		return err;
	long_enough = ktime_get_seconds() + seconds;
	storm_rage(seconds + SECONDS_MORE, crews, tick, is_all_enough);
	err = strict ? weigh_anchors() : 0;
	return err ?: weigh_jumps() ?: is_wrong();
}

/* What is asked of spots. */
enum { TEXTS, DETOURS, RARE };

static int unseen_of(const struct jump_spot *spots, int count, bool rare)
{
	int n, unseen = 0;

	for (n = 0; n < count; n++)
		unseen += spots[n].original && spots[n].rare == rare &&
			  !atomic_long_read(&spots[n].seen);
	return unseen;
}

static int unseen(int what)
{
	int n, all;

	if (what == RARE)
		return unseen_of(jump_common, JUMP_COMMON, true);
	all = what == DETOURS ? unseen_of(jump_common, JUMP_COMMON, false) : 0;
	for (n = 0; n < JUMPS_WATCHED; n++) {
		struct jump_target *target = &jump_targets[n];

		all += what == DETOURS ?
		       unseen_of(target->slot, JUMP_SLOT, false) :
		       unseen_of(target->text, JUMP_TEXT, false);
	}
	return all;
}

/* One line: where, and how often; or only where not yet. */
static void show(const char *of, const char *what,
		 const struct jump_spot *spots, int count, bool all)
{
	char line[640] = "";
	int n, len = 0;

	for (n = 0; n < count; n++) {
		long seen = atomic_long_read(&spots[n].seen);

		if (spots[n].original && (all || !seen))
			len += scnprintf(line + len, sizeof(line) - len,
					 " +%d:%ld", n, seen);
	}
	if (len)
		pr_info("boundaries of %s%s:%s\n", of, what, line);
}

static void show_all(bool all)
{
	int n;

	for (n = 0; n < JUMPS_WATCHED; n++) {
		struct jump_target *target = &jump_targets[n];

		show(target->name, "", target->text, JUMP_TEXT, all);
		show(target->name, "'s detour", target->slot, JUMP_SLOT, all);
	}
	show("all", " in common", jump_common, JUMP_COMMON, all);
}

/* Says a word at times. */
static bool all_are_seen(void)
{
	static time64_t next;
	int texts = unseen(TEXTS), detours = unseen(DETOURS);
	int rare = unseen(RARE);

	WRITE_ONCE(rarely, rare && !detours);
	if (!(texts + detours + rare) || ktime_get_seconds() > next) {
		pr_info("boundaries left: %d in text, %d in detours, %d rare ones, after %ld ticks, %ld of them there\n",
			texts, detours, rare,
			atomic_long_read(&jump_counts.ticks),
			atomic_long_read(&jump_counts.unwound));
		next = ktime_get_seconds() + 20;
		show_all(false);
	}
	return !(texts + detours + rare);
}

/*
 * Probes come, become jumps, and are hit till all has been seen of their detours;
 * they go till all has been seen of the functions. A jump takes long to come if
 * it is waited for tasks that hardly run.
 */
static int turn(void *unused)
{
	struct kprobe *batch[JUMPS_WATCHED];
	int n;

	while (!READ_ONCE(storm_over)) {
		for (n = 0; n < JUMPS_WATCHED; n++) {
			batch[n] = &jump_targets[n].anchor;
			*batch[n] = (struct kprobe) {
				.addr = (void *)jump_targets[n].site,
				.pre_handler = jump_handler,
			};
		}
		if (register_kprobes(batch, JUMPS_WATCHED)) {
			atomic_long_inc(&jump_counts.refused);
			break;
		}
		while ((!jump_are_there(JUMPS_WATCHED) || unseen(DETOURS) || unseen(RARE)) &&
		       !READ_ONCE(storm_over))
			storm_sleep(100);
		unregister_kprobes(batch, JUMPS_WATCHED);
		while (unseen(TEXTS) && !READ_ONCE(storm_over))
			storm_sleep(100);
		atomic_long_inc(&jump_counts.rounds);
	}
	return 0;
}

static int each_boundary(unsigned int seconds, bool unused)
{
	static const struct storm_crew crews[2] = {
		{ hitter, HITTERS }, { turn, 1 },
	};
	int left;

	begin_counting();
	jump_choice = JUMPS_WATCHED;
	watching = true;
	storm_rage(seconds, crews, tick, all_are_seen);
	watching = false;
	rarely = false;
	jump_choice = JUMPS;
	show_all(true);
	left = unseen(TEXTS) + unseen(DETOURS) + unseen(RARE);
	pr_info("boundaries never seen: %d\n", left);
	return is_wrong() ?: left ? -EIO : 0;
}

/* The return thunk of call depth tracking, for one, leaves flags of its own. */
static bool returns_keep_flags(void)
{
	struct storm_registers registers;

	fill(&registers, 0, true, 0);
	registers.flags |= ARCH_FLAGS;
	storm_run(&registers, jump_twin_leave, 1);
	return (registers.flags & ARCH_FLAGS) == ARCH_FLAGS;
}

static int prepare(void)
{
	if (!returns_keep_flags()) {
		pr_err("a return changes flags here: a storm of jumps can compare nothing\n");
		return -EOPNOTSUPP;
	}
	FOR_EACH_JUMP(target)
		target->site = target->function + ARCH_MARK + ARCH_BEFORE;
	return jump_learn();
}

#define STORM(what, is_strict)						\
	.rage = what, .strict = is_strict, .prepare = prepare,		\
	.begin = jump_text_begin, .end = jump_text_end

static struct storm_kind of_jumps = { STORM(jumps, true) };
static struct storm_kind of_jumps_loose = { STORM(jumps, false) };
static struct storm_kind of_boundaries = { STORM(each_boundary, false) };
module_param_cb(jumps, &storm_ops, &of_jumps, 0200);
module_param_cb(jumps_loose, &storm_ops, &of_jumps_loose, 0200);
module_param_cb(boundaries, &storm_ops, &of_boundaries, 0200);
