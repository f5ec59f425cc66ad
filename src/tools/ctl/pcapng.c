/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/ctl/pcapng.h"

#include "libknot/base/err.h"

#include <string.h>

enum {
	BLOCK_INTERFACE = 1,
	BLOCK_STATISTICS = 5,
	BLOCK_PACKET = 6,
	BLOCK_SECTION = 0x0A0D0D0A,
	BYTE_ORDER_MAGIC = 0x1A2B3C4D,
	LINKTYPE_ETHERNET = 1,
	OPTION_TEXT_MAX = 1024, /* bytes of an option that we write */
};

/* Option codes; the numbers are the block's own, but for OPT_END. */
enum {
	OPT_END = 0,
	SHB_USERAPPL = 4,
	IF_NAME = 2,
	IF_TSRESOL = 9,
	IF_FILTER = 11,
	EPB_FLAGS = 2,
	ISB_STARTTIME = 2,
	ISB_ENDTIME = 3,
	ISB_FILTERACCEPT = 6,
	ISB_OSDROP = 7,
};

typedef struct {
	uint16_t code, len;
	const void *value;
} option_t;

static uint32_t pcapng_pad_len(uint32_t len)
{
	return (len + 3) & ~(uint32_t)3;
}

static void pcapng_put_padded(FILE *out, const void *bytes, uint32_t len)
{
	static const uint8_t zeros[3];
	if (len > 0) {
		(void)fwrite(bytes, 1, len, out);
		(void)fwrite(zeros, 1, pcapng_pad_len(len) - len, out);
	}
}

/* A block: its fixed part, data padded to 32 bits, options, and its length on both ends. */
static void pcapng_put_block(FILE *out, uint32_t type, const void *fixed, uint32_t fixed_len, const void *data,
		uint32_t data_len, const option_t *options, size_t option_count)
{
	uint32_t len = 4 + 4 + fixed_len + pcapng_pad_len(data_len) + 4;
	for (size_t i = 0; i < option_count; i++) {
		len += 4 + pcapng_pad_len(options[i].len);
	}
	len += option_count > 0 ? 4 : 0;
	const uint32_t head[] = { type, len };
	(void)fwrite(head, sizeof(head), 1, out);
	(void)fwrite(fixed, 1, fixed_len, out);
	pcapng_put_padded(out, data, data_len);
	for (size_t i = 0; i < option_count; i++) {
		const uint16_t option[] = { options[i].code, options[i].len };
		(void)fwrite(option, sizeof(option), 1, out);
		pcapng_put_padded(out, options[i].value, options[i].len);
	}
	if (option_count > 0) {
		const uint16_t end[] = { OPT_END, 0 };
		(void)fwrite(end, sizeof(end), 1, out);
	}
	(void)fwrite(&len, sizeof(len), 1, out);
}

static option_t pcapng_make_text_option(uint16_t code, const char *text)
{
	return (option_t){ code, (uint16_t)strnlen(text, OPTION_TEXT_MAX), text };
}

/* Time stamps are two 32-bit numbers, the high one first. */
typedef struct {
	uint32_t high, low;
} stamp_t;

static stamp_t pcapng_make_stamp(uint64_t time_ns)
{
	return (stamp_t){ (uint32_t)(time_ns >> 32), (uint32_t)time_ns };
}

void pcapng_section(FILE *out, const char *application)
{
	const struct {
		uint32_t magic;
		uint16_t major, minor;
		uint32_t section_len[2];
	} fixed = { BYTE_ORDER_MAGIC, 1, 0, { UINT32_MAX, UINT32_MAX } }; /* length unknown */
	const option_t options[] = { pcapng_make_text_option(SHB_USERAPPL, application) };
	pcapng_put_block(out, BLOCK_SECTION, &fixed, sizeof(fixed), NULL, 0, options, KNOT_LEN(options));
}

void pcapng_interface(FILE *out, const char *name, uint32_t snaplen, const char *filter)
{
	const struct {
		uint16_t link_type, reserved;
		uint32_t snaplen;
	} fixed = { LINKTYPE_ETHERNET, 0, snaplen };
	const uint8_t nanoseconds = 9;
	/* The first byte of the filter option says what it is: 0, a string in libpcap's syntax. */
	char text[1 + OPTION_TEXT_MAX] = { 0 };
	size_t filter_len = filter != NULL ? strnlen(filter, OPTION_TEXT_MAX) : 0;
	memcpy(text + 1, filter != NULL ? filter : "", filter_len);
	const option_t options[] = {
		pcapng_make_text_option(IF_NAME, name),
		{ IF_TSRESOL, 1, &nanoseconds },
		{ IF_FILTER, (uint16_t)(1 + filter_len), text },
	};
	pcapng_put_block(out, BLOCK_INTERFACE, &fixed, sizeof(fixed), NULL, 0, options,
			KNOT_LEN(options) - (filter == NULL ? 1 : 0));
}

void pcapng_frame(FILE *out, const pcapng_frame_t *frame)
{
	const struct {
		uint32_t interface;
		stamp_t stamp;
		uint32_t len, original_len;
	} fixed = { frame->interface, pcapng_make_stamp(frame->time_ns), frame->len, frame->original_len };
	const uint32_t flags = frame->direction;
	const option_t options[] = { { EPB_FLAGS, sizeof(flags), &flags } };
	pcapng_put_block(
			out, BLOCK_PACKET, &fixed, sizeof(fixed), frame->bytes, frame->len, options, KNOT_LEN(options));
}

void pcapng_statistics(FILE *out, const pcapng_statistics_t *statistics)
{
	const struct {
		uint32_t interface;
		stamp_t stamp;
	} fixed = { statistics->interface, pcapng_make_stamp(statistics->end_ns) };
	const stamp_t start = pcapng_make_stamp(statistics->start_ns), end = pcapng_make_stamp(statistics->end_ns);
	const option_t options[] = {
		{ ISB_STARTTIME, sizeof(start), &start },
		{ ISB_ENDTIME, sizeof(end), &end },
		{ ISB_FILTERACCEPT, sizeof(statistics->captured), &statistics->captured },
		{ ISB_OSDROP, sizeof(statistics->dropped), &statistics->dropped },
	};
	pcapng_put_block(out, BLOCK_STATISTICS, &fixed, sizeof(fixed), NULL, 0, options, KNOT_LEN(options));
}
