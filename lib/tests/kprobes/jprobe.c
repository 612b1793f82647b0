// SPDX-License-Identifier: GPL-2.0
/*
 * Jprobes: what they are registered by, what their handlers see and leave, and
 * who else is called.
 */
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/preempt.h>
#include "jprobe.h"

#define ARGS	(6 + sizeof(struct pile) / sizeof(long))

noinline long clauses_jprobe_traced(ARGUMENTS)
{
	long sum = ((((a * 3 + b) * 3 + c) * 3 + d) * 3 + e) * 3 + f;
	int n;

	for (n = 6; n < ARGS; n++)
		sum = sum * 3 + PILE_IS->of[n - 6];
	return sum;
}

const struct kind clauses_kinds[KINDS] = {
	{ "clauses_jprobe_boosted", clauses_jprobe_boosted },
	{ "clauses_jprobe_emulated", clauses_jprobe_emulated },
	{ "clauses_jprobe_stepped", clauses_jprobe_stepped },
	/* Where there is ftrace, it calls from this one. */
	{ "clauses_jprobe_traced", clauses_jprobe_traced },
};

static struct pile pile;

noinline long clauses_sum(const struct kind *kind)
{
	int n;

	for (n = 6; n < ARGS; n++)
		pile.of[n - 6] = 101 + n;
	return CALL_WITH(kind->call, pile);
}

long clauses_sum_expected(void)
{
	long sum = 0;
	int n;

	for (n = 0; n < ARGS; n++)
		sum = sum * 3 + 101 + n;
	return sum;
}

static int calls;
static long seen[ARGS];
static bool preempted, interrupted, irqs;

static void note(long a, long b, long c, long d, long e, long f,
		 const struct pile *pile)
{
	long all[] = { a, b, c, d, e, f };

	calls++;
	memcpy(seen, all, sizeof(all));
	memcpy(seen + 6, pile, sizeof(*pile));
	preempted |= preemptible();
	interrupted |= in_nmi() || in_hardirq();
	irqs = !irqs_disabled();
}

/* Each writes over what it has been given. */
static long returns(ARGUMENTS)
{
	note(a, b, c, d, e, f, PILE_IS);
	SPOIL_PILE();
	OPTIMIZER_HIDE_VAR(a);
	return -1;
}

static long returns_as_of_old(ARGUMENTS)
{
	note(a, b, c, d, e, f, PILE_IS);
	SPOIL_PILE();
	jprobe_return();
	/* Not reached. */
	calls += 1000;
	return 0;
}

static noinline void deeper(int depth)
{
	char room[64];

	memset(room, depth, sizeof(room));
	if (depth)
		deeper(depth - 1);
	else
		jprobe_return();
	/* So that it is no jump to the end. */
	barrier_data(room);
}

static long returns_from_deep(ARGUMENTS)
{
	note(a, b, c, d, e, f, PILE_IS);
	deeper(5);
	calls += 1000;
	return 0;
}

static void *const handlers[] = { returns, returns_as_of_old, returns_from_deep };

static void expect_seen(struct kunit *test)
{
	int n;

	for (n = 0; n < ARGS; n++)
		KUNIT_EXPECT_EQ(test, seen[n], 101 + n);
}

/* Each kind of function with each kind of handler. */
static void each(struct kunit *test, void (*look)(struct kunit *test,
						  const struct kind *kind,
						  struct jprobe *jp))
{
	int handler;

	FOR_EACH_KIND(of) {
		for (handler = 0; handler < ARRAY_SIZE(handlers); handler++) {
			struct jprobe jp = JPROBE_AT(of->symbol, handlers[handler]);

			/* A client may pass the address of the code. */
			if (!handler)
				jp.entry -= POINTER_BIT;
			calls = 0;
			preempted = false;
			interrupted = false;
			memset(seen, 0, sizeof(seen));
			KUNIT_ASSERT_EQ(test, register_jprobe(&jp), 0);
			look(test, of, &jp);
			unregister_jprobe(&jp);
			calls = 0;
			KUNIT_EXPECT_EQ(test, clauses_sum(of), CLAUSES_SUM);
			KUNIT_EXPECT_EQ(test, calls, 0);
		}
	}
}

static void look_at_arguments(struct kunit *test, const struct kind *kind,
			      struct jprobe *jp)
{
	KUNIT_EXPECT_EQ(test, clauses_sum(kind), CLAUSES_SUM);
	KUNIT_EXPECT_EQ(test, calls, 1);
	expect_seen(test);
	KUNIT_EXPECT_EQ(test, clauses_sum(kind), CLAUSES_SUM);
	KUNIT_EXPECT_EQ(test, calls, 2);
}

static void J2_handler_sees_the_arguments(struct kunit *test)
{
	each(test, look_at_arguments);
}

static void J2_nothing_leaks_out_of_the_handler(struct kunit *test)
{
	void *spoilers[] = { clauses_jprobe_spoil, clauses_jprobe_spoil_old };
	int n;

	FOR_EACH_KIND(of) {
		for (n = 0; n < ARRAY_SIZE(spoilers); n++) {
			int before = clauses_jprobe_spoiled;

			JPROBE(jp, of->symbol, spoilers[n]);
			KUNIT_EXPECT_EQ(test, clauses_sum(of), CLAUSES_SUM);
			KUNIT_EXPECT_EQ(test, clauses_jprobe_spoiled, before + 1);
		}
	}
}

static void changes_callers(long *own)
{
	*own = 2;
	jprobe_return();
}

static noinline __noclone long clauses_takes_pointer(long *own)
{
	barrier();
	return *own;
}

/* What the handler changes by a pointer is no copy of its own. */
static void J2_what_an_argument_leads_to_is_the_callers(struct kunit *test)
{
	long own = 1;

	JPROBE(jp, "clauses_takes_pointer", changes_callers);
	KUNIT_EXPECT_EQ(test, clauses_takes_pointer(&own), 2);
	/* The compiler knows that the function itself does not write. */
	KUNIT_EXPECT_EQ(test, READ_ONCE(own), 2);
}

static void look_at_context(struct kunit *test, const struct kind *kind,
			    struct jprobe *jp)
{
	int count = preempt_count();
	unsigned long flags;

	clauses_sum(kind);
	KUNIT_EXPECT_TRUE(test, irqs);
	local_irq_save(flags);
	clauses_sum(kind);
	local_irq_restore(flags);
	KUNIT_EXPECT_FALSE(test, irqs);
	KUNIT_EXPECT_EQ(test, calls, 2);
	KUNIT_EXPECT_FALSE(test, preempted);
	KUNIT_EXPECT_FALSE(test, interrupted);
	KUNIT_EXPECT_EQ(test, preempt_count(), count);
}

static void J3_preemption_is_off_and_interrupts_are_the_functions(struct kunit *test)
{
	each(test, look_at_context);
}

#define REFUSED_JPROBE(err, ...)					\
	KUNIT_EXPECT_EQ(test, register_jprobe(&JPROBE_AT(__VA_ARGS__)), err)

static void J4_what_is_wrong_is_refused(struct kunit *test)
{
	struct jprobe *none = NULL;

	KUNIT_EXPECT_EQ(test, register_jprobe(NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_jprobes(&none, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_jprobes(NULL, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_jprobes(NULL, -1), -EINVAL);
	REFUSED_JPROBE(-EINVAL, "clauses_jprobe_traced", NULL);
	/* Not where a function starts; not text at all. */
	REFUSED_JPROBE(-EINVAL, "clauses_jprobe_traced",
		       (void *)hidden(returns) + 1);
	REFUSED_JPROBE(-EINVAL, "clauses_jprobe_traced", &none);
	REFUSED_JPROBE(-EINVAL, "clauses_jprobe_traced", returns, .offset = 9);
	REFUSED_JPROBE(-ENOENT, "no_such_function", returns);
	REFUSED_JPROBE(-EINVAL, "register_jprobe", returns);
	/* None of this has left anything. */
	JPROBE(jp, "clauses_jprobe_traced", returns);
	unregister_jprobes(NULL, 0);
}

static void J4_first_error_undoes_the_batch(struct kunit *test)
{
	struct jprobe first = JPROBE_AT(clauses_kinds[0].symbol, returns);
	struct jprobe second = JPROBE_AT(clauses_kinds[3].symbol, NULL);
	struct jprobe *both[] = { &first, &second };

	calls = 0;
	KUNIT_EXPECT_EQ(test, register_jprobes(both, 2), -EINVAL);
	clauses_sum(&clauses_kinds[0]);
	KUNIT_EXPECT_EQ(test, calls, 0);

	jprobe_anew(&first);
	jprobe_anew(&second);
	second.entry = returns_as_of_old;
	KUNIT_ASSERT_EQ(test, register_jprobes(both, 2), 0);
	KUNIT_EXPECT_EQ(test, clauses_sum(&clauses_kinds[0]), CLAUSES_SUM);
	KUNIT_EXPECT_EQ(test, clauses_sum(&clauses_kinds[3]), CLAUSES_SUM);
	KUNIT_EXPECT_EQ(test, calls, 2);
	unregister_jprobes(both, 2);
	clauses_sum(&clauses_kinds[3]);
	KUNIT_EXPECT_EQ(test, calls, 2);
}

static void J5_one_at_an_address(struct kunit *test)
{
	FOR_EACH_KIND(of) {
		struct jprobe first = JPROBE_AT(of->symbol, returns);
		struct jprobe second = JPROBE_AT(of->symbol, returns_as_of_old);

		KUNIT_ASSERT_EQ(test, register_jprobe(&first), 0);
		KUNIT_EXPECT_EQ(test, register_jprobe(&second), -EEXIST);
		jprobe_anew(&second);
		KUNIT_EXPECT_EQ(test, disable_jprobe(&first), 0);
		KUNIT_EXPECT_EQ(test, register_jprobe(&second), -EEXIST);
		KUNIT_EXPECT_EQ(test, enable_jprobe(&first), 0);
		calls = 0;
		KUNIT_EXPECT_EQ(test, clauses_sum(of), CLAUSES_SUM);
		KUNIT_EXPECT_EQ(test, calls, 1);
		unregister_jprobe(&first);
		jprobe_anew(&second);
		KUNIT_ASSERT_EQ(test, register_jprobe(&second), 0);
		KUNIT_EXPECT_EQ(test, clauses_sum(of), CLAUSES_SUM);
		KUNIT_EXPECT_EQ(test, calls, 2);
		unregister_jprobe(&second);
	}
}

static void look_at_switches(struct kunit *test, const struct kind *kind,
			     struct jprobe *jp)
{
	KUNIT_EXPECT_EQ(test, disable_jprobe(jp), 0);
	KUNIT_EXPECT_EQ(test, clauses_sum(kind), CLAUSES_SUM);
	KUNIT_EXPECT_EQ(test, calls, 0);
	KUNIT_EXPECT_EQ(test, enable_jprobe(jp), 0);
	KUNIT_EXPECT_EQ(test, clauses_sum(kind), CLAUSES_SUM);
	KUNIT_EXPECT_EQ(test, calls, 1);
	expect_seen(test);
}

static void J6_disable_and_enable(struct kunit *test)
{
	struct jprobe jp = JPROBE_AT(clauses_kinds[0].symbol, returns);

	KUNIT_EXPECT_EQ(test, disable_jprobe(&jp), -EINVAL);
	KUNIT_EXPECT_EQ(test, enable_jprobe(&jp), -EINVAL);
	each(test, look_at_switches);
}

static void J7_misuse_warns(struct kunit *test)
{
	kunit_warning_suppress(test) {
		jprobe_return();
		KUNIT_EXPECT_SUPPRESSED_WARNING_COUNT(test, 1);
		jprobe_return();
		KUNIT_EXPECT_SUPPRESSED_WARNING_COUNT(test, 2);
	}
}

static int misuse(struct kprobe *kp, struct pt_regs *regs)
{
	jprobe_return();
	return clauses_before(kp, regs);
}

/* The handler of another probe is none. */
static void J7_misuse_in_a_kprobe_warns(struct kunit *test)
{
	PROBE_AT(probe, TARGET, .pre_handler = misuse);
	kunit_warning_suppress(test) {
		KUNIT_EXPECT_EQ(test, clauses_call(1), 2);
		KUNIT_EXPECT_SUPPRESSED_WARNING_COUNT(test, 1);
	}
	KUNIT_EXPECT_EQ(test, probe.before, 1);
}

static bool interrupt_is_over;

static void misuse_in_interrupt(struct irq_work *work)
{
	jprobe_return();
	WRITE_ONCE(interrupt_is_over, true);
}

static struct irq_work misusing = IRQ_WORK_INIT_HARD(misuse_in_interrupt);

static long is_interrupted(ARGUMENTS)
{
	calls++;
	irq_work_queue(&misusing);
	while (!READ_ONCE(interrupt_is_over))
		cpu_relax();
	return 0;
}

/* The handler goes on. */
static void J7_misuse_in_an_interrupt_of_a_handler_warns(struct kunit *test)
{
	FOR_EACH_KIND(of) {
		calls = 0;
		interrupt_is_over = false;
		JPROBE(jp, of->symbol, is_interrupted);
		kunit_warning_suppress(test) {
			KUNIT_EXPECT_EQ(test, clauses_sum(of), CLAUSES_SUM);
			KUNIT_EXPECT_SUPPRESSED_WARNING_COUNT(test, 1);
		}
		KUNIT_EXPECT_EQ(test, calls, 1);
	}
}

static void look_at_others(struct kunit *test, const struct kind *kind,
			   struct jprobe *jp)
{
	PROBE_AT(around, kind->symbol, AFTER);
	PROBE_AT(before, kind->symbol);
	KUNIT_EXPECT_EQ(test, clauses_sum(kind), CLAUSES_SUM);
	KUNIT_EXPECT_EQ(test, calls, 1);
	EXPECT_HITS(around, 1, 1);
	KUNIT_EXPECT_EQ(test, before.before, 1);
	/* They were there first. */
	unregister_jprobe(jp);
	jprobe_anew(jp);
	KUNIT_ASSERT_EQ(test, register_jprobe(jp), 0);
	KUNIT_EXPECT_EQ(test, clauses_sum(kind), CLAUSES_SUM);
	KUNIT_EXPECT_EQ(test, calls, 2);
	EXPECT_HITS(around, 2, 2);
	KUNIT_EXPECT_EQ(test, around.kp.nmissed + before.kp.nmissed, 0);
	take_out(&around);
	KUNIT_EXPECT_EQ(test, clauses_sum(kind), CLAUSES_SUM);
	KUNIT_EXPECT_EQ(test, calls, 3);
	KUNIT_EXPECT_EQ(test, before.before, 3);
	expect_seen(test);
}

static void J8_kprobes_at_the_address_are_called(struct kunit *test)
{
	each(test, look_at_others);
}

static int returned;
static long sum;

static int note_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	returned++;
	sum = regs_return_value(regs);
	return 0;
}

static void look_at_return(struct kunit *test, const struct kind *kind,
			   struct jprobe *jp)
{
	struct kretprobe rp = { .kp.symbol_name = kind->symbol, .handler = note_return };
	int turn;

	returned = 0;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
	for (turn = 1; turn <= 2; turn++) {
		KUNIT_EXPECT_EQ(test, clauses_sum(kind), CLAUSES_SUM);
		KUNIT_EXPECT_EQ(test, calls, turn);
		KUNIT_EXPECT_EQ(test, returned, turn);
		KUNIT_EXPECT_EQ(test, sum, CLAUSES_SUM);
		expect_seen(test);
		/* Next time it is the newer one. */
		unregister_jprobe(jp);
		jprobe_anew(jp);
		KUNIT_ASSERT_EQ(test, register_jprobe(jp), 0);
	}
	KUNIT_EXPECT_EQ(test, rp.nmissed, 0);
	unregister_kretprobe(&rp);
}

static void J8_return_probe_at_the_address(struct kunit *test)
{
	each(test, look_at_return);
}

static const struct kind *again;
static long got, got_untraced;

static long calls_others(ARGUMENTS)
{
	calls++;
	got_untraced = clauses_call_untraced(1);
	got = clauses_sum(again);
	return 0;
}

static void J9_hits_in_the_handler_are_missed(struct kunit *test)
{
	int missed = 0;

	PROBE_AT(probe, "kprobes_clauses_untraced", AFTER);
	FOR_EACH_KIND(of) {
		again = of;
		calls = 0;
		got = 0;
		JPROBE(jp, of->symbol, calls_others);
		KUNIT_EXPECT_EQ(test, clauses_sum(of), CLAUSES_SUM);
		KUNIT_EXPECT_EQ(test, calls, 1);
		KUNIT_EXPECT_EQ(test, got, CLAUSES_SUM);
		KUNIT_EXPECT_EQ(test, got_untraced, 4);
		KUNIT_EXPECT_EQ(test, jp.kp.nmissed, 1);
		KUNIT_EXPECT_EQ(test, probe.kp.nmissed, ++missed);
	}
	KUNIT_EXPECT_EQ(test, probe.before + probe.after, 0);
}

static int faults;

static int misuse_in_fault(struct kprobe *kp, struct pt_regs *regs, int trap)
{
	faults++;
	jprobe_return();
	return 0;
}

static int note_fault(struct kprobe *kp, struct pt_regs *regs, int trap)
{
	faults += trap == PAGE_FAULT;
	return 0;
}

static long reads_nothing(ARGUMENTS)
{
	calls++;
	got = clauses_load(UNMAPPED);
	jprobe_return();
	return 0;
}

/* The handler that has faulted goes on, once the fault is over. */
static void try_fault(struct kunit *test, kprobe_fault_handler_t handler,
		      int warnings)
{
	int count = preempt_count();

	FOR_EACH_KIND(of) {
		JPROBE(jp, of->symbol, reads_nothing, .fault_handler = handler);
		calls = 0;
		faults = 0;
		got = 0;
		kunit_warning_suppress(test) {
			KUNIT_EXPECT_EQ(test, clauses_sum(of), CLAUSES_SUM);
			KUNIT_EXPECT_SUPPRESSED_WARNING_COUNT(test, warnings);
		}
		KUNIT_EXPECT_EQ(test, calls, 1);
		KUNIT_EXPECT_EQ(test, got, -EFAULT);
		KUNIT_EXPECT_EQ(test, faults, 1);
		KUNIT_EXPECT_EQ(test, preempt_count(), count);
	}
}

static void J10_handlers_may_fault(struct kunit *test)
{
	try_fault(test, note_fault, 0);
}

static void J7_misuse_in_a_fault_handler_warns(struct kunit *test)
{
	try_fault(test, misuse_in_fault, 1);
}

static struct kunit_case jprobe_cases[] = {
	KUNIT_CASE(J2_handler_sees_the_arguments),
	KUNIT_CASE(J2_nothing_leaks_out_of_the_handler),
	KUNIT_CASE(J2_what_an_argument_leads_to_is_the_callers),
	KUNIT_CASE(J3_preemption_is_off_and_interrupts_are_the_functions),
	KUNIT_CASE(J4_what_is_wrong_is_refused),
	KUNIT_CASE(J4_first_error_undoes_the_batch),
	KUNIT_CASE(J5_one_at_an_address),
	KUNIT_CASE(J6_disable_and_enable),
	KUNIT_CASE(J7_misuse_warns),
	KUNIT_CASE(J7_misuse_in_a_kprobe_warns),
	KUNIT_CASE(J7_misuse_in_an_interrupt_of_a_handler_warns),
	KUNIT_CASE(J8_kprobes_at_the_address_are_called),
	KUNIT_CASE(J8_return_probe_at_the_address),
	KUNIT_CASE(J9_hits_in_the_handler_are_missed),
	KUNIT_CASE(J10_handlers_may_fault),
	KUNIT_CASE(J7_misuse_in_a_fault_handler_warns),
	{}
};

CLAUSES_SUITE(clauses_jprobe, jprobe_cases);
