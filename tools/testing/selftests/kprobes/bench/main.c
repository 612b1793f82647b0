// SPDX-License-Identifier: GPL-2.0
/*
 * A benchmark of kprobes that works over any implementation behind
 * <linux/kprobes.h>. Driven through debugfs:
 *
 *   kprobes_bench/run      write the name of a set of rows: measures and prints
 *   kprobes_bench/targets  write addresses of kernel functions, one a line
 *
 * Rows come out as "bench: row=NAME ..." in the kernel log. A row that the
 * implementation refuses says so, with the errno, and is not a figure.
 */
#define pr_fmt(fmt) "bench: " fmt

#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "bench.h"

static struct dentry *folder;

static const struct {
	const char *name;
	void (*run)(void);	/* none: bench_hit_rows() */
	bool optimized, traps;
} sets[] = {
	{ "hits" },
	{ "optimized",		.optimized = true },
	{ "hits-traps",		.traps = true },
	{ "optimized-traps",	.optimized = true, .traps = true },
	{ "scale",		bench_scale_rows },
	{ "module",		bench_module_rows },
	{ "vmlinux",		bench_vmlinux_rows },
	{ "deep",		bench_deep_rows },
	{ "optimizer",		bench_optimizer_rows },
	{ "memory",		bench_memory_rows },
	{ "syncs",		bench_sync_rows },
};

static ssize_t run_write(struct file *file, const char __user *user,
			 size_t length, loff_t *offset)
{
	char text[32] = "";
	char *name;
	unsigned int i;

	if (length >= sizeof(text) || copy_from_user(text, user, length))
		return -EINVAL;
	name = strim(text);
	for (i = 0; i < ARRAY_SIZE(sets); i++) {
		if (strcmp(sets[i].name, name))
			continue;
		if (sets[i].run)
			sets[i].run();
		else
			bench_hit_rows(sets[i].optimized, sets[i].traps);
		pr_info("set=%s\n", name);
		return length;
	}
	return -EINVAL;
}

static const struct file_operations run_operations = {
	.owner = THIS_MODULE,
	.write = run_write,
};

static ssize_t targets_write(struct file *file, const char __user *user,
			     size_t length, loff_t *offset)
{
	char *text = memdup_user(user, length);
	int error;

	if (IS_ERR(text))
		return PTR_ERR(text);
	error = bench_vmlinux_take(text, length);
	kfree(text);
	return error ? error : length;
}

static const struct file_operations targets_operations = {
	.owner = THIS_MODULE,
	.write = targets_write,
};

static int __init bench_init(void)
{
	folder = debugfs_create_dir("kprobes_bench", NULL);
	debugfs_create_file("run", 0200, folder, NULL, &run_operations);
	debugfs_create_file("targets", 0200, folder, NULL, &targets_operations);
	return 0;
}

static void __exit bench_exit(void)
{
	debugfs_remove(folder);
	bench_vmlinux_free();
}

module_init(bench_init);
module_exit(bench_exit);
MODULE_DESCRIPTION("Kprobes benchmark");
MODULE_LICENSE("GPL");
