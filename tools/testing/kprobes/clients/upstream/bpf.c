// SPDX-License-Identifier: GPL-2.0
/*
 * Stands between upstream's tests of BPF and the kernel of these cases, which
 * is other than they take for granted. Their program, which is as upstream has
 * it, has this loaded before it.
 *
 * Before and between all tests it asks for what this kernel has not: keys, to
 * give it a certificate for programs that are signed, and networks, to be back
 * in the first one. None of the tests that run here has a program signed, or
 * leaves its network: the answer is yes.
 *
 * And it reads /proc/kallsyms no further than to a line that does not fit into
 * its buffer. Some names in Rust are as long, with either implementation.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

long syscall(long number, ...)
{
	long (*real)(long number, ...) = dlsym(RTLD_NEXT, "syscall");
	long words[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		words[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_add_key)
		return 1;
	return real(number, words[0], words[1], words[2], words[3], words[4],
		    words[5]);
}

int open(const char *path, int flags, ...)
{
	int (*real)(const char *path, int flags, ...) = dlsym(RTLD_NEXT, "open");
	va_list list;
	int mode;

	va_start(list, flags);
	mode = va_arg(list, int);
	va_end(list);
	return real(strcmp(path, "/proc/self/ns/net") ? path : "/proc/self/ns",
		    flags, mode);
}

int setns(int fd, int type)
{
	return 0;
}

/* What upstream's reader has room for, with the end of the line. */
#define LINE_ROOM 255

FILE *fopen(const char *path, const char *mode)
{
	FILE *(*real)(const char *path, const char *mode);
	FILE *all, *some;
	char *line = NULL;
	size_t room = 0;

	real = dlsym(RTLD_NEXT, "fopen");
	all = real(path, mode);
	if (!all || strcmp(path, "/proc/kallsyms"))
		return all;
	some = tmpfile();
	while (some && getline(&line, &room, all) >= 0) {
		if (strlen(line) <= LINE_ROOM)
			fputs(line, some);
	}
	free(line);
	fclose(all);
	if (some)
		rewind(some);
	return some;
}
