// SPDX-License-Identifier: GPL-2.0
/*
 * What perf is told of the kernel's symbols and text while words are written
 * to files: perf_records FILE WORD [FILE WORD...]. One line for each record,
 * with its time, CPU by CPU.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST_CPUS	64
#define RING		(256 << 10)

struct ksymbol {
	struct perf_event_header header;
	uint64_t addr;
	uint32_t len;
	uint16_t type;
	uint16_t flags;
	char name[];
};

struct text_poke {
	struct perf_event_header header;
	uint64_t addr;
	uint16_t old_len;
	uint16_t new_len;
	uint8_t bytes[];
};

static int give_up(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	return 1;
}

static void show_bytes(const uint8_t *bytes, int count)
{
	putchar(' ');
	if (!count)
		putchar('-');
	while (count--)
		printf("%02x", *bytes++);
}

static void show(const struct perf_event_header *record)
{
	const struct ksymbol *symbol = (const void *)record;
	const struct text_poke *poke = (const void *)record;
	/* The time is the last word of each record. */
	const uint64_t *end = (const void *)((const char *)record +
					     record->size);

	switch (record->type) {
	case PERF_RECORD_KSYMBOL:
		printf("%llu ksymbol %016llx %u type %u flags %u %s\n",
		       (unsigned long long)end[-1],
		       (unsigned long long)symbol->addr, symbol->len,
		       symbol->type, symbol->flags, symbol->name);
		break;
	case PERF_RECORD_TEXT_POKE:
		printf("%llu text_poke %016llx", (unsigned long long)end[-1],
		       (unsigned long long)poke->addr);
		show_bytes(poke->bytes, poke->old_len);
		show_bytes(poke->bytes + poke->old_len, poke->new_len);
		putchar('\n');
		break;
	}
}

static int write_word(const char *file, const char *word)
{
	int fd = open(file, O_WRONLY);

	if (fd < 0 || write(fd, word, strlen(word)) < 0)
		return give_up(file);
	close(fd);
	return 0;
}

/* One for each CPU; nothing is ever taken out. */
static struct perf_event_mmap_page *rings[MOST_CPUS];

static int open_ring(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.ksymbol = 1,
		.text_poke = 1,
	};
	const size_t page = sysconf(_SC_PAGESIZE);
	void *memory;
	int fd;

	fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);
	/* A CPU that is off makes no records. */
	if (fd < 0)
		return errno == ENODEV ? 0 : give_up("perf_event_open");
	memory = mmap(NULL, page + RING, PROT_READ | PROT_WRITE, MAP_SHARED,
		      fd, 0);
	if (memory == MAP_FAILED)
		return give_up("mmap");
	rings[cpu] = memory;
	return 0;
}

static int show_ring(int cpu)
{
	const struct perf_event_mmap_page *page = rings[cpu];
	const struct perf_event_header *record;
	uint64_t head, at;

	if (!page)
		return 0;
	head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	for (at = 0; at < head && head <= RING; at += record->size) {
		record = (const void *)((const char *)page +
					sysconf(_SC_PAGESIZE) + at);
		show(record);
	}
	/* Where the longest one would still fit, none was left out. */
	if (head <= RING - UINT16_MAX)
		return 0;
	fprintf(stderr, "more records than there is room for\n");
	return 1;
}

int main(int argc, char **argv)
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int n;

	if (cpus > MOST_CPUS) {
		fprintf(stderr, "%ld CPUs\n", cpus);
		return 1;
	}
	for (n = 0; n < cpus; n++)
		if (open_ring(n))
			return 1;
	for (n = 1; n + 1 < argc; n += 2)
		if (write_word(argv[n], argv[n + 1]))
			return 1;
	for (n = 0; n < cpus; n++)
		if (show_ring(n))
			return 1;
	return 0;
}
