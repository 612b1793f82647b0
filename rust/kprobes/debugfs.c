// SPDX-License-Identifier: GPL-2.0
/*
 * The files of the directory kprobes/ in debugfs; debugfs.rs shows their contents.
 * No hit runs this code, so it may be probed.
 */
#include <linux/debugfs.h>
#include <linux/init.h>

#include "glue.h"

static const struct {
	const char *name;
	umode_t mode;
} files[] = {
	[RUST_KPROBES_LIST]		= { "list", 0400 },
	[RUST_KPROBES_ENABLED]		= { "enabled", 0600 },
	[RUST_KPROBES_BLACKLIST]	= { "blacklist", 0400 },
	[RUST_KPROBES_REFUSED]		= { "refused", 0400 },
	[RUST_KPROBES_COUNTERS]		= { "counters", 0400 },
#ifdef CONFIG_RUST_KPROBES_JUMPS
	[RUST_KPROBES_UNOPTIMIZED]	= { "unoptimized", 0400 },
#endif
};

bool rust_kprobes_shows_addresses(const struct seq_file *file)
{
	return kallsyms_show_value(file->file->f_cred);
}

static int kprobes_show(struct seq_file *file, void *unused)
{
	return rust_kprobes_show(file, (unsigned long)file->private);
}

static ssize_t kprobes_write(struct file *file, const char __user *text,
			     size_t count, loff_t *pos)
{
	bool on;

	if ((unsigned long)file_inode(file)->i_private != RUST_KPROBES_ENABLED)
		return -EINVAL;
	return kstrtobool_from_user(text, count, &on) ?:
	       rust_kprobes_enable_all(on) ?: count;
}

DEFINE_SHOW_STORE_ATTRIBUTE(kprobes);

static int __init kprobes_debugfs_init(void)
{
	struct dentry *dir = debugfs_create_dir("kprobes", NULL);

	for (unsigned long i = 0; i < ARRAY_SIZE(files); i++)
		debugfs_create_file(files[i].name, files[i].mode, dir,
				    (void *)i, &kprobes_fops);
	return 0;
}
late_initcall(kprobes_debugfs_init);
