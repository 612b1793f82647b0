// SPDX-License-Identifier: GPL-2.0
/*
 * What the implementation says of places in debugfs: whether they are jumps,
 * and if not, why. C does not say why.
 */
#include <linux/bsearch.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/namei.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uio.h>
#include "jumps.h"

#define REASONS		24
#define REASON_LENGTH	160

static struct {
	char text[REASON_LENGTH];
	int count[FORMS_POSITIONS];
} reasons[REASONS];

u8 *said;

static struct path list_path, reasons_path;

/* All that a file says now, which has an end; or nothing. */
static char *read_all(const struct path *path)
{
	struct file *file = dentry_open(path, O_RDONLY, current_cred());
	size_t size = 1 << 20, length = 0;
	struct iov_iter iter;
	struct kiocb kiocb;
	struct kvec room;
	char *text;

	if (IS_ERR(file))
		return NULL;
	text = kvmalloc(size, GFP_KERNEL);
	init_sync_kiocb(&kiocb, file);
	while (text && length < size - 1) {
		ssize_t more;

		room = (struct kvec) { text + length, size - 1 - length };
		iov_iter_kvec(&iter, ITER_DEST, &room, 1, room.iov_len);
		/* These files have no read_iter(), which kernel_read() needs. */
		more = seq_read_iter(&kiocb, &iter);
		if (more <= 0)
			break;
		length += more;
	}
	if (text)
		text[length] = '\0';
	fput(file);
	return text;
}

static int compare_sites(const void *key, const void *trial)
{
	unsigned long at = (unsigned long)site(trial);

	return *(unsigned long *)key < at ? -1 : *(unsigned long *)key > at;
}

static struct trial *trial_at(const struct part *part, unsigned long at)
{
	return bsearch(&at, all + part->from, part->count, sizeof(*all),
		       compare_sites);
}

/* Lines are "address  k  symbol [NOTE]". */
static void hear_list(const struct part *part, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		struct trial *trial;
		unsigned long at;

		if (strlen(line) < 16 || !strstr(line, "[OPTIMIZED]"))
			continue;
		line[16] = '\0';
		if (kstrtoul(line, 16, &at))
			continue;
		trial = trial_at(part, at);
		if (trial)
			said[trial - all] = OPTIMIZED;
	}
}

static void count_reason(char *text)
{
	char *end = strstr(text, ": forms_");
	int n;

	if (end)
		*end = '\0';
	for (n = 0; n < REASONS - 1 && reasons[n].text[0]; n++)
		if (!strncmp(reasons[n].text, text, REASON_LENGTH - 1))
			break;
	strscpy(reasons[n].text, text);
	reasons[n].count[position]++;
}

/* Lines are "forms_N+offset/size [module]  reason", maybe with an address. */
static void hear_reasons(const struct part *part, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		char *reason = strstr(line, "]  ");
		unsigned long offset;
		struct trial *trial;
		unsigned int number;

		if (!reason ||
		    sscanf(line, "forms_%u+%lx/", &number, &offset) != 2)
			continue;
		/* A function is called by the number of its first form. */
		trial = trial_at(part, offset + (unsigned long)
				 form_stub(&forms_groups[0].forms[number]));
		if (!trial)
			continue;
		if (said[trial - all] == OPTIMIZED)
			is_wrong(trial, "the list says it is a jump, but: %s",
				 reason + 3);
		said[trial - all] = NOT_OPTIMIZED;
		count_reason(reason + 3);
	}
}

int find_files(void)
{
	int err = kern_path("/sys/kernel/debug/kprobes/list", LOOKUP_FOLLOW,
			    &list_path);

	if (!err && IS_ENABLED(CONFIG_RUST_KPROBES))
		err = kern_path("/sys/kernel/debug/kprobes/unoptimized",
				LOOKUP_FOLLOW, &reasons_path);
	return err;
}

void lose_files(void)
{
	path_put(&list_path);
	path_put(&reasons_path);
}

bool hear(const struct part *part)
{
	char *list = read_all(&list_path);
	char *why = reasons_path.dentry ? read_all(&reasons_path) : NULL;
	bool heard = list && (why || !reasons_path.dentry);

	if (list)
		hear_list(part, list);
	if (why)
		hear_reasons(part, why);
	kvfree(list);
	kvfree(why);
	return heard;
}

void show_reasons(void)
{
	int n;

	for (n = 0; n < REASONS && reasons[n].text[0]; n++)
		pr_info("forms: stays: %d, %d, %d: %s\n", reasons[n].count[0],
			reasons[n].count[1], reasons[n].count[2],
			reasons[n].text);
}
