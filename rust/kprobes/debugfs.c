// SPDX-License-Identifier: GPL-2.0
/*
 * The files in debugfs' kprobes/; abi/debugfs.rs shows what is in them. No hit
 * comes here, so probes may.
 */
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "glue.h"

bool rust_kprobes_shows_addresses(const struct seq_file *file)
{
	return kallsyms_show_value(file->file->f_cred);
}

static ssize_t rust_kprobes_enabled_write(struct file *file,
					  const char __user *text, size_t count,
					  loff_t *pos)
{
	bool on;

	return kstrtobool_from_user(text, count, &on) ?:
	       rust_kprobes_enable_all(on) ?: count;
}

DEFINE_SHOW_ATTRIBUTE(rust_kprobes_list);
DEFINE_SHOW_STORE_ATTRIBUTE(rust_kprobes_enabled);
DEFINE_SHOW_ATTRIBUTE(rust_kprobes_blacklist);
DEFINE_SHOW_ATTRIBUTE(rust_kprobes_refused);
#ifdef CONFIG_RUST_KPROBES_JUMPS
DEFINE_SHOW_ATTRIBUTE(rust_kprobes_unoptimized);
#endif
DEFINE_SHOW_ATTRIBUTE(rust_kprobes_counters);

static int __init make_files(void)
{
	struct dentry *dir = debugfs_create_dir("kprobes", NULL);

	debugfs_create_file("list", 0400, dir, NULL,
			    &rust_kprobes_list_fops);
	debugfs_create_file("enabled", 0600, dir, NULL,
			    &rust_kprobes_enabled_fops);
	debugfs_create_file("blacklist", 0400, dir, NULL,
			    &rust_kprobes_blacklist_fops);
	debugfs_create_file("refused", 0400, dir, NULL,
			    &rust_kprobes_refused_fops);
#ifdef CONFIG_RUST_KPROBES_JUMPS
	debugfs_create_file("unoptimized", 0400, dir, NULL,
			    &rust_kprobes_unoptimized_fops);
#endif
	debugfs_create_file("counters", 0400, dir, NULL,
			    &rust_kprobes_counters_fops);
	return 0;
}
late_initcall(make_files);
