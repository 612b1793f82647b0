// SPDX-License-Identifier: GPL-2.0
/*
 * Files in debugfs, each of which has the crate use memory that it has freed
 * when something is written to it. KASAN has to report that.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kprobes.h>

#include "glue.h"

static const char * const names[] = {
	"table_array", "table_node", "slot_owner", "probe",
};

static ssize_t __kprobes plant_write(struct file *file, const char __user *text,
				     size_t count, loff_t *pos)
{
	static struct kprobe probe = {
		.symbol_name = "kernel_clone",
		.flags = KPROBE_FLAG_DISABLED,
	};

	return rust_kprobes_plant(file->private_data, &probe) ?: count;
}

static const struct file_operations plant_file = {
	.open = simple_open,
	.write = plant_write,
};

static int __init make_plants(void)
{
	struct dentry *dir = debugfs_create_dir("kprobes_plants", NULL);
	int n;

	for (n = 0; n < ARRAY_SIZE(names); n++)
		debugfs_create_file(names[n], 0200, dir, (void *)names[n],
				    &plant_file);
	return 0;
}
late_initcall(make_plants);
