// SPDX-License-Identifier: GPL-2.0
/*
 * What one hit costs, by the way the probed instruction is run and the way
 * the handlers are reached.
 *
 * A row is a figure only if the site looks as it should (its first byte tells
 * breakpoint, jump and ftrace call apart) and every handler ran every time.
 */
#include <linux/kdebug.h>
#include <linux/kernel.h>
#include <linux/notifier.h>
#include <linux/string.h>
#include "bench.h"

#define MOST	4

struct hit {
	const char *row;
	void (*call)(void);
	u8 form;
	unsigned int probes;
	unsigned int counted;	/* handler runs per hit */
	kprobe_pre_handler_t pre;
	kprobe_post_handler_t post;
	bool returns;		/* a return probe */
	kretprobe_handler_t on_return;
	kretprobe_handler_t on_entry;
	size_t keeps;		/* bytes for each call */
	bool inner;		/* a second probe, on bench_inner() */
};

u64 bench_hits;

/* The plain ways in, for a function with a place for ftrace. */
noinline void bench_c(void)
{
	asm volatile("");
}

int bench_pre(struct kprobe *p, struct pt_regs *regs)
{
	bench_hits++;
	return 0;
}
NOKPROBE_SYMBOL(bench_pre);

void bench_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	bench_hits++;
}
NOKPROBE_SYMBOL(bench_post);

int bench_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	bench_hits++;
	return 0;
}
NOKPROBE_SYMBOL(bench_return);

static int keep(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	*(u64 *)ri->data = ++bench_hits;
	return 0;
}
NOKPROBE_SYMBOL(keep);

static int kept(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (*(u64 *)ri->data == bench_hits)
		bench_hits++;
	return 0;
}
NOKPROBE_SYMBOL(kept);

/* Goes on at the function's return instead of the probed instruction. */
static int skip(struct kprobe *p, struct pt_regs *regs)
{
	bench_hits++;
	instruction_pointer_set(regs, (unsigned long)bench_mov_return);
	return 1;
}
NOKPROBE_SYMBOL(skip);

/* Hits another probe, whose handlers must then not run. */
static int nest(struct kprobe *p, struct pt_regs *regs)
{
	bench_hits++;
	bench_inner();
	return 0;
}
NOKPROBE_SYMBOL(nest);

static const struct hit breakpoints[] = {
	{ "step", bench_mov, BENCH_BREAKPOINT, 1, 2, bench_pre, bench_post },
	{ "step_pre", bench_mov, BENCH_BREAKPOINT, 1, 1, bench_pre },
	{ "step_post", bench_mov, BENCH_BREAKPOINT, 1, 1, NULL, bench_post },
	{ "jmp", bench_jmp, BENCH_BREAKPOINT, 1, 1, bench_pre },
	{ "jmp_post", bench_jmp, BENCH_BREAKPOINT, 1, 2, bench_pre, bench_post },
	{ "call", bench_call, BENCH_BREAKPOINT, 1, 1, bench_pre },
	{ "ret", bench_ret, BENCH_BREAKPOINT, 1, 1, bench_pre },
	{ "skip", bench_mov, BENCH_BREAKPOINT, 1, 1, skip },
	{ "step_2", bench_mov, BENCH_BREAKPOINT, 2, 2, bench_pre },
	{ "step_4", bench_mov, BENCH_BREAKPOINT, 4, 4, bench_pre },
	{ "reentered", bench_mov, BENCH_BREAKPOINT, 1, 1, nest, .inner = true },
	{ "ftrace", bench_c, BENCH_FTRACE, 1, 1, bench_pre },
	{ "ftrace_post", bench_c, BENCH_FTRACE, 1, 2, bench_pre, bench_post },
	{ "ftrace_2", bench_c, BENCH_FTRACE, 2, 2, bench_pre },
	{ "return_step", bench_mov, BENCH_BREAKPOINT, 1, 1,
	  .returns = true, .on_return = bench_return },
	{ "return_step_entry", bench_mov, BENCH_BREAKPOINT, 1, 2,
	  .returns = true, .on_return = bench_return,
	  .on_entry = bench_return },
	{ "return_step_entry_only", bench_mov, BENCH_BREAKPOINT, 1, 1,
	  .returns = true, .on_entry = bench_return },
	{ "return_step_data", bench_mov, BENCH_BREAKPOINT, 1, 2,
	  .returns = true, .on_return = kept, .on_entry = keep, .keeps = 64 },
	{ "return_jmp", bench_jmp, BENCH_BREAKPOINT, 1, 1,
	  .returns = true, .on_return = bench_return },
	{ "return_ftrace", bench_c, BENCH_FTRACE, 1, 1,
	  .returns = true, .on_return = bench_return },
	{ "return_ftrace_entry", bench_c, BENCH_FTRACE, 1, 2,
	  .returns = true, .on_return = bench_return,
	  .on_entry = bench_return },
	{ "return_ftrace_entry_only", bench_c, BENCH_FTRACE, 1, 1,
	  .returns = true, .on_entry = bench_return },
	{ "return_ftrace_data", bench_c, BENCH_FTRACE, 1, 2,
	  .returns = true, .on_return = kept, .on_entry = keep, .keeps = 64 },
};

static const struct hit jumps[] = {
	{ "optimized", bench_mov, BENCH_JUMP, 1, 1, bench_pre },
	{ "optimized_2", bench_mov, BENCH_JUMP, 2, 2, bench_pre },
	{ "optimized_4", bench_mov, BENCH_JUMP, 4, 4, bench_pre },
	{ "return_optimized", bench_mov, BENCH_JUMP, 1, 1,
	  .returns = true, .on_return = bench_return },
	{ "return_optimized_entry", bench_mov, BENCH_JUMP, 1, 2,
	  .returns = true, .on_return = bench_return,
	  .on_entry = bench_return },
	{ "return_optimized_entry_only", bench_mov, BENCH_JUMP, 1, 1,
	  .returns = true, .on_entry = bench_return },
	{ "return_optimized_data", bench_mov, BENCH_JUMP, 1, 2,
	  .returns = true, .on_return = kept, .on_entry = keep, .keeps = 64 },
};

static const struct {
	const char *row;
	void (*call)(void);
} bare[] = {
	{ "bare_mov", bench_mov },
	{ "bare_jmp", bench_jmp },
	{ "bare_call", bench_call },
	{ "bare_ret", bench_ret },
	{ "bare_c", bench_c },
	{ "floor", bench_trap },
};

static struct kprobe probes[MOST], inner;
static struct kretprobe return_probe;

static void *site(void (*function)(void))
{
	return (u8 *)function + BENCH_ENTRY;
}

static int insert(const struct hit *hit)
{
	unsigned int i;
	int error;

	if (hit->returns) {
		memset(&return_probe, 0, sizeof(return_probe));
		return_probe.kp.addr = site(hit->call);
		return_probe.handler = hit->on_return;
		return_probe.entry_handler = hit->on_entry;
		return_probe.data_size = hit->keeps;
		return register_kretprobe(&return_probe);
	}
	memset(probes, 0, sizeof(probes));
	for (i = 0; i < hit->probes; i++) {
		probes[i].addr = site(hit->call);
		probes[i].pre_handler = hit->pre;
		probes[i].post_handler = hit->post;
		error = register_kprobe(&probes[i]);
		if (error)
			goto undo;
	}
	if (hit->inner) {
		memset(&inner, 0, sizeof(inner));
		inner.addr = site(bench_inner);
		inner.pre_handler = bench_pre;
		inner.post_handler = bench_post;
		error = register_kprobe(&inner);
		if (error)
			goto undo;
	}
	return 0;
undo:
	while (i--)
		unregister_kprobe(&probes[i]);
	return error;
}

static void take_out(const struct hit *hit)
{
	unsigned int i;

	if (hit->returns) {
		unregister_kretprobe(&return_probe);
		return;
	}
	if (hit->inner)
		unregister_kprobe(&inner);
	for (i = 0; i < hit->probes; i++)
		unregister_kprobe(&probes[i]);
}

static bool as_expected(const struct hit *hit)
{
	const unsigned int times = 16;
	u8 *at = site(hit->call), form;

	if (hit->form == BENCH_JUMP)
		bench_wait_form(at, BENCH_JUMP);
	form = READ_ONCE(at[BENCH_FORM_AT]);
	if (form != hit->form) {
		bench_unexpected(hit->row, "first-byte", form, hit->form);
		return false;
	}
	bench_hits = 0;
	bench_calls(hit->call, times);
	if (bench_hits != times * hit->counted) {
		bench_unexpected(hit->row, "handler-runs", bench_hits,
				 times * hit->counted);
		return false;
	}
	if (hit->inner && inner.nmissed != times) {
		bench_unexpected(hit->row, "misses", inner.nmissed, times);
		return false;
	}
	return true;
}

static void plain_row(const char *row, void (*call)(void), bool traps)
{
	if (traps)
		bench_trap_calls(row, call);
	else
		bench_sample_calls(row, call);
}

static bool is_branch(void (*function)(void))
{
	return function == bench_jmp || function == bench_call ||
	       function == bench_ret;
}

static void hit_row(const struct hit *hit, bool traps)
{
	int error = !BENCH_BRANCHES && is_branch(hit->call) ?
		    -EOPNOTSUPP : insert(hit);

	if (error) {
		bench_failed(hit->row, error);
		return;
	}
	if (as_expected(hit))
		plain_row(hit->row, hit->call, traps);
	take_out(hit);
}

/*
 * The floor is a trap that goes through the kernel's entry and exit, as a
 * breakpoint does, and for which it finds nothing to do: see targets.S.
 *
 * "notified" is the least that a breakpoint costs which is nobody's probe: the
 * same, and the implementation's search for a probe that is not there, and the
 * chain of die notifiers, of which ours is one.
 */
static int notify(struct notifier_block *block, unsigned long reason, void *data)
{
	struct die_args *args = data;

	if (bench_breakpoint(reason, args->regs) !=
	    (unsigned long)site(bench_notified))
		return NOTIFY_DONE;
	return NOTIFY_STOP;
}
NOKPROBE_SYMBOL(notify);

static struct notifier_block notifier = {
	.notifier_call = notify,
};

static void notified_row(bool traps)
{
	int error;

	if (!BENCH_NOTIFIES)
		return;
	error = register_die_notifier(&notifier);
	if (error) {
		bench_failed("notified", error);
		return;
	}
	plain_row("notified", bench_notified, traps);
	unregister_die_notifier(&notifier);
}

void bench_hit_rows(bool optimized, bool traps)
{
	unsigned int i;

	if (optimized) {
		for (i = 0; BENCH_JUMPS && i < ARRAY_SIZE(jumps); i++)
			hit_row(&jumps[i], traps);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(bare); i++)
		plain_row(bare[i].row, bare[i].call, traps);
	plain_row("bare_sites", (void *)bench_function(0), traps);
	notified_row(traps);
	for (i = 0; i < ARRAY_SIZE(breakpoints); i++)
		hit_row(&breakpoints[i], traps);
}
