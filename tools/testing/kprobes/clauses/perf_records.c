// SPDX-License-Identifier: GPL-2.0
/*
 * What perf is told of the kernel's symbols and text while words are written
 * to files: perf_records FILE WORD [FILE WORD...]. One line for each record.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING	(256 << 10)

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

	switch (record->type) {
	case PERF_RECORD_KSYMBOL:
		printf("ksymbol %016llx %u type %u flags %u %s\n",
		       (unsigned long long)symbol->addr, symbol->len,
		       symbol->type, symbol->flags, symbol->name);
		break;
	case PERF_RECORD_TEXT_POKE:
		printf("text_poke %016llx", (unsigned long long)poke->addr);
		show_bytes(poke->bytes, poke->old_len);
		show_bytes(poke->bytes + poke->old_len, poke->new_len);
		putchar('\n');
		break;
	case PERF_RECORD_LOST:
		printf("lost\n");
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

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.ksymbol = 1,
		.text_poke = 1,
	};
	const size_t page = sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *ring;
	static uint64_t copy[8192];
	uint64_t at, head, n;
	const char *data;
	int fd, arg;

	/* This task's, on any CPU. */
	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (fd < 0)
		return give_up("perf_event_open");
	ring = mmap(NULL, page + RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    0);
	if (ring == MAP_FAILED)
		return give_up("mmap");
	for (arg = 1; arg + 1 < argc; arg += 2)
		if (write_word(argv[arg], argv[arg + 1]))
			return 1;
	head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	data = (const char *)ring + page;
	for (at = 0; at < head; at += copy[0] >> 48) {
		/* The size is in the first word; the ring may end inside. */
		memcpy(copy, data + at % RING, sizeof(*copy));
		for (n = 0; n < copy[0] >> 48; n += sizeof(*copy))
			memcpy((char *)copy + n, data + (at + n) % RING,
			       sizeof(*copy));
		show((const void *)copy);
	}
	return 0;
}
